// Redaction removes secrets and names from reports, and nothing else.
#include "redact/redact.h"

#include "catch.h"
#include "cpu_time.h"
#include "redact/secrets.h"
#include "render/writer.h"
#include "sample_reports.h"

using namespace oomdoctor;

namespace {

const std::string letters = "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789";

std::string redacted_text(std::string text, Redaction how = Redaction::secrets) {
  Report report;
  report.verdict.headline = std::move(text);
  return redact(std::move(report), how).report.verdict.headline;
}

/// A report with every part present.
Report whole_report() {
  Report report = samples::fatal();
  report.incidents.push_back(report.incidents[0]);
  report.incidents[1].id = "i2";
  report.incidents[1].follows = "i1";
  report.incidents[1].occurrences = {samples::at(7)};
  report.incidents[0].host = "gpu-01";
  for (int rank = 0; rank < 4; ++rank)
    report.ranks.push_back({rank, rank == 1, 10, "allocated", 1e9, 2e9, 3e9, false, samples::at(3)});
  report.why_not = report.causes[1];
  report.trace = {"oom.request = 1.50 GiB"};
  report.settings = {{"batch_size", "8", samples::at(1)}};
  report.input_lengths = report.series;
  report.inputs[0].compression = "gzip";
  report.notes.push_back({"warning", "cut off", samples::cited(3, "a line", "line")});
  return report;
}

}  // namespace

TEST_CASE("secrets are recognized and named", "[redact]") {
  const auto token = [](std::string_view prefix) { return std::string(prefix) + letters; };
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"login with " + token("hf_") + ".", "login with [redacted: Hugging Face token]."},
      {"HF_TOKEN=" + token("hf_") + " python", "HF_TOKEN=[redacted: Hugging Face token] python"},
      {token("ghp_") + " " + token("github_pat_"), "[redacted: GitHub token] [redacted: GitHub token]"},
      {token("glpat-"), "[redacted: GitLab token]"},
      {"key " + token("wandb_v1_"), "key [redacted: Weights & Biases key]"},
      {"wandb login 0123456789abcdef0123456789abcdef01234567", "wandb login [redacted: Weights & Biases key]"},
      {"AKIAIOSFODNN7EXAMPLE", "[redacted: AWS key]"},
      {token("sk-ant-api03-") + "," + token("sk-proj-"), "[redacted: Anthropic key],[redacted: OpenAI key]"},
      {token("xoxb-"), "[redacted: Slack token]"},
      {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N", "[redacted: JSON web token]"},
      {"postgres://alice:hunter2@db/x", "postgres://alice:[redacted: URL password]@db/x"},
      {"git clone https://" + token("oauth") + "@git.example/x",
       "git clone https://[redacted: URL password]@git.example/x"},
      {"Authorization: Bearer abcdef123456", "Authorization: Bearer [redacted: authorization header]"},
      {"'authorization': 'Basic dXNlcjpwYXNz'", "'authorization': 'Basic [redacted: authorization header]'"},
      {"-----BEGIN RSA PRIVATE KEY-----\\nMIIEow\\n-----END RSA PRIVATE KEY-----",
       "-----BEGIN RSA PRIVATE KEY-----[redacted: private key]-----END RSA PRIVATE KEY-----"},
      {"-----BEGIN PRIVATE KEY-----\nMIIEow+/=\nAAAA", "-----BEGIN PRIVATE KEY-----[redacted: private key]"},
      {"WANDB_API_KEY=0123456789abcdef", "WANDB_API_KEY=[redacted: key]"},
      {"\"api_key\": \"abc def\", x", "\"api_key\": \"[redacted: key]\", x"},
      {"--password hunter22 --steps 7", "--password [redacted: password] --steps 7"},
      {"DB_PASSWORD='it''s'", "DB_PASSWORD='it''s'"},
      {"client_secret=abcdef", "client_secret=[redacted: secret]"},
      {"MY_TOKEN=swordfish", "MY_TOKEN=[redacted: token]"},
      {"x-api-key: abcd1234", "x-api-key: [redacted: key]"},
      {"https://a.blob.example/c?sv=1&sig=abcdefgh%2Bijklmnop",
       "https://a.blob.example/c?sv=1&sig=[redacted: signature]"},
  };
  for (const auto& [text, expected] : cases) CHECK(redacted_text(text) == expected);
}

TEST_CASE("text that only looks like a secret stays", "[redact]") {
  for (const std::string text : {"max_tokens=4096",
                                 "token: 128",
                                 "tokens: 1000000",
                                 "pad_token='</s>'",
                                 "eos_token=<|endoftext|>",
                                 "commit 0123456789abcdef0123456789abcdef01234567",
                                 "tokenizer=meta-llama/Llama-2-7b-hf",
                                 "hf_model=bert",
                                 "api_key=os.environ['KEY']",
                                 "password = args.password",
                                 "token=self.token",
                                 "hub_token=<HUB_TOKEN>",
                                 "HF_TOKEN=None",
                                 "next token: playing",
                                 "sk-learn",
                                 "https://pytorch.org/docs/stable/notes/cuda.html",
                                 "git@github.com:a/b.git",
                                 "std::bad_alloc",
                                 "tokens_per_second=12345.67",
                                 "AKIA",
                                 "the bearer of news came home",
                                 "mask_token=[MASK] sep_token=[SEP]",
                                 "num_tokens: 1,234,567",
                                 "HF_TOKEN=${{ secrets.HF_TOKEN }}"})
    CHECK(redacted_text(text) == text);
}

TEST_CASE("a secret that an excerpt cuts off is removed, too", "[redact]") {
  std::string text(600 - 9, ' ');
  CHECK(redacted_text(text + "hf_AbCdEf").ends_with(" [redacted: Hugging Face token]"));
}

TEST_CASE("no writer prints a secret, whichever text contains it", "[redact]") {
  const std::string secret = "hf_" + letters;
  Report report = whole_report();
  std::size_t texts = 0;
  visit_texts(report, [&](std::string& text, Location*) { text += " " + secret, ++texts; });
  CHECK(texts > 150);
  for (const Redaction how : {Redaction::secrets, Redaction::all}) {
    const Redacted shared = redact(report, how);
    CHECK(redaction_words(shared.counts).find("1 Hugging Face token") != std::string::npos);
    for (const auto& writer : writers()) {
      CAPTURE(writer.name);
      const RenderOptions whole{.verbose = true};
      CHECK(writer.write(report, whole).find(secret) != std::string::npos);
      CHECK(writer.write(shared.report, whole).find(secret) == std::string::npos);
    }
  }
}

TEST_CASE("a mark in an excerpt stays on its text", "[redact]") {
  Report report;
  const std::string line = "HF_TOKEN=hf_" + letters + " tried to allocate 1.50 GiB";
  report.notes = {{"note", "", samples::cited(1, line, "1.50 GiB")}, {"note", "", samples::cited(2, line, "EfGh")}};
  report = redact(report, Redaction::secrets).report;
  const auto marked = [&](std::size_t i) {
    const Location& at = *report.notes[i].location;
    return at.excerpt.substr(static_cast<std::size_t>(at.column), static_cast<std::size_t>(at.end_column - at.column));
  };
  CHECK(marked(0) == "1.50 GiB");
  CHECK(marked(1) == "[redacted: Hugging Face token]");
}

TEST_CASE("a setting with a secret name has a secret value", "[redact]") {
  Report report;
  report.settings = {{"hub_api_key", "swordfish", samples::at(1)}, {"max_tokens", "4096", samples::at(2)}};
  report = redact(report, Redaction::secrets).report;
  CHECK(report.settings[0].value == "[redacted: key]");
  CHECK(report.settings[1].value == "4096");
}

TEST_CASE("a note gives the number of different secrets", "[redact]") {
  Report report;
  report.verdict.headline = "hf_" + letters;
  report.verdict.retry.change = "hf_" + letters + " MY_PASSWORD=swordfish";
  const Redacted shared = redact(report, Redaction::secrets);
  CHECK(redaction_words(shared.counts) == "1 Hugging Face token, 1 password");
  REQUIRE(shared.report.notes.size() == 1);
  CHECK(shared.report.notes[0].text == "Redacted: 1 Hugging Face token, 1 password");
  CHECK(redact(samples::fatal(), Redaction::secrets).report.notes.size() == samples::fatal().notes.size());
  CHECK(redact(report, Redaction::off).report.verdict.headline == report.verdict.headline);
}

TEST_CASE("a person or machine gets the same substitute everywhere", "[redact]") {
  Report report;
  report.incidents = {samples::fatal_incident()};
  report.incidents[0].host = "gpu-01";
  report.incidents[0].frame->file = "/home/alice/run/train.py";
  report.trace = {"gpu-01 and gpu-02.cluster.local and gpu-02",
                  "node: gpu-02.cluster.local",
                  "alice@corp.example wrote to s3://secret-bucket/x and gs://other",
                  "10.1.2.3 talks to 10.1.2.3 and fe80::1ff:fe23:4567 at 12:30:45, 0000:3b:00.0",
                  "see https://pytorch.org/docs and http://mlflow.corp.example:5000, tcp://127.0.0.1:29500",
                  "/scratch/alice/data and /Users/bob and malice",
                  "View run at https://wandb.ai/team/project/runs/x",
                  "*** STEP 1.0 ON nid01 CANCELLED AT 2021-05-27T21:42:11 ***",
                  "nid02:12:13 [0] NCCL INFO Launch mode Parallel",
                  "Mar  1 12:00:00 nid03 kernel: Out of memory: Killed process 7"};
  const Redacted shared = redact(report, Redaction::all);
  CHECK(shared.report.incidents[0].host == "host-1");
  CHECK(shared.report.incidents[0].frame->file == "~/run/train.py");
  const auto& lines = shared.report.trace;
  CHECK(lines[0] == "host-1 and host-2 and host-2");
  CHECK(lines[1] == "node: host-2");
  CHECK(lines[2] == "e-mail-1 wrote to s3://bucket-1/x and gs://bucket-2");
  CHECK(lines[3] == "ip-1 talks to ip-1 and ip-2 at 12:30:45, 0000:3b:00.0");
  CHECK(lines[4] == "see https://pytorch.org/docs and http://host-3:5000, tcp://127.0.0.1:29500");
  CHECK(lines[5] == "/scratch/user-1/data and ~ and malice");
  CHECK(lines[6] == "View run at https://wandb.ai/project-1/runs/x");
  CHECK(lines[7] == "*** STEP 1.0 ON host-4 CANCELLED AT 2021-05-27T21:42:11 ***");
  CHECK(lines[8] == "host-5:12:13 [0] NCCL INFO Launch mode Parallel");
  CHECK(lines[9] == "Mar  1 12:00:00 host-6 kernel: Out of memory: Killed process 7");
  CHECK(shared.counts.at("host") == 6);
}

TEST_CASE("the work of redaction grows with a hostile report, not with its square", "[redact]") {
  const auto seconds = [](std::size_t size) {
    return testing::cpu_seconds([&] {
      Report report;
      for (const std::string piece : {"eyJ", "://a:", "-----BEGIN ", "Authorization: ", "token=", "wandb login ",
                                      "sig=", "/home/", "a@", "1.1.1.", "::"}) {
        std::string text;
        while (text.size() < size) text += piece;
        report.trace.push_back(text);
      }
      redact(report, Redaction::all);
    });
  };
  CHECK(seconds(40000) < 8 * seconds(10000));  // between four times, and sixteen times if it grew with the square
}
