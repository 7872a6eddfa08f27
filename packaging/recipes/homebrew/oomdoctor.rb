# For a tap: installs the static program of the release.
class Oomdoctor < Formula
  desc "Finds out why a training job ran out of memory, from its log"
  homepage "https://github.com/oomdoctor/oomdoctor"
  version "@VERSION@"
  license "Apache-2.0"

  depends_on :linux

  on_intel do
    url "https://github.com/oomdoctor/oomdoctor/releases/download/v@VERSION@/oomdoctor-@VERSION@-linux-x64.tar.gz"
    sha256 "@SHA256_X64@"
  end
  on_arm do
    url "https://github.com/oomdoctor/oomdoctor/releases/download/v@VERSION@/oomdoctor-@VERSION@-linux-arm64.tar.gz"
    sha256 "@SHA256_ARM64@"
  end

  def install
    bin.install "bin/oomdoctor"
    man1.install "share/man/man1/oomdoctor.1.gz"
    bash_completion.install "share/bash-completion/completions/oomdoctor"
    zsh_completion.install "share/zsh/site-functions/_oomdoctor"
    fish_completion.install "share/fish/vendor_completions.d/oomdoctor.fish"
    pkgshare.install "share/oomdoctor/agents"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/oomdoctor --version")
  end
end
