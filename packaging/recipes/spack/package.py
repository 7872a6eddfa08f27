from spack.package import *


class Oomdoctor(CMakePackage):
    """Finds out why a training job ran out of memory, from its log."""

    homepage = "https://github.com/oomdoctor/oomdoctor"
    url = "https://github.com/oomdoctor/oomdoctor/releases/download/v@VERSION@/oomdoctor-@VERSION@.tar.gz"

    license("Apache-2.0")

    version("@VERSION@", sha256="@SHA256_SOURCE@")

    depends_on("cxx", type="build")
    depends_on("cmake@3.24:", type="build")
    depends_on("bzip2")
    depends_on("boost@1.74: +program_options +regex")
    depends_on("eigen@3.4:")
    depends_on("fmt@9:")
    depends_on("highway@1:")
    depends_on("isa-l")
    depends_on("libarchive")
    depends_on("lz4")
    depends_on("nlohmann-json@3.11:")
    depends_on("tomlplusplus")
    depends_on("utf8proc")
    depends_on("xxhash")
    depends_on("xz")
    depends_on("zstd")

    def cmake_args(self):
        return [self.define("OOMDOCTOR_TESTS", False)]
