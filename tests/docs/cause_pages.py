#!/usr/bin/env python3
"""Checks the pages of the causes, docs/causes/ID.md: one for each file in rules/causes/, and README.md, their table.

The text of a page is written by hand, except for the parts between <!-- generated: NAME --> and <!-- end -->: the signs
of the cause ("signs") and the fixes that name it ("fixes"), both from rules/. --accept writes these parts, and the
headings; a cause without a page gets one with headings only, to be filled in.
"""
import json
import pathlib
import re
import sys
import tomllib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "language"))
from language_test import AVOIDED  # noqa: E402

PAGES = ROOT / "docs" / "causes"
SECTIONS = ("What it means", "How oomdoctor detects it", "How to confirm it", "How to fix it", "Example", "Links")
LONGEST_SENTENCE = 30
OPEN_FIXES = 8  # a page folds the fixes behind these

# Causes that no sample shows as the first one.
WITHOUT_SAMPLE = {"library_memory", "stream_pending"}
# Pinned host memory has no other name.
WORDS_ALLOWED = {"pinned_memory": {"host memory"}, "README": {"host memory"}}

# Documentation that a page may link to: the project's own, and the vendors'.
DOCUMENTATION = {
    "docs.pytorch.org", "docs.nvidia.com", "nvidia.custhelp.com", "developer.nvidia.com", "huggingface.co",
    "www.deepspeed.ai", "deepspeed.readthedocs.io", "docs.jax.dev", "www.tensorflow.org", "slurm.schedmd.com",
    "kubernetes.io", "docs.docker.com", "docs.kernel.org", "docs.vllm.ai", "learn.microsoft.com", "docs.ray.io",
    "man7.org", "rocm.docs.amd.com", "lightning.ai",
}

# Where the settings of a fix are carried out by anybody who trains a model, or who runs a machine, with the name that
# the page gives the place. The first of these that a fix has a setting for is shown, the others are folded.
COMMON_PLACES = {
    "environment": "Environment variable", "shell": "Shell", "plain PyTorch": "Plain PyTorch",
    "plain Python": "Plain Python", "training script": "Training script", "training": "Training script",
    "program": "Any program", "launcher": "Launcher", "machine": "Machine", "container or job": "Container or job",
    "batch system": "Batch system", "numactl": "numactl", "Docker": "Docker", "Kubernetes": "Kubernetes",
    "Slurm": "Slurm", "Linux": "Linux", "Linux, as root": "Linux, as root", "systemd, as root": "systemd, as root",
    "NVIDIA control panel": "NVIDIA control panel", "torchmetrics": "torchmetrics", "tokenizer": "Tokenizer",
}
HUGGING_FACE_PLACES = ("HF Trainer", "HF Transformers", "HF accelerate", "HF generate", "HF peft", "HF TRL", "TRL",
                       "FSDP", "FSDP2", "accelerate")
ENGINES = ("SGLang", "TGI", "TensorRT-LLM", "LMDeploy", "llama.cpp", "ollama", "ExLlamaV2")
PLACES_FIRST = {"kv_cache": [("vLLM",), ENGINES]}
# Settings that fit a fix, but not this cause of it: only those of these places are shown.
PLACES_ONLY = {("kv_cache", "less-at-once"): ENGINES, ("host_memory", "raise-limit"): ("Ray",),
               ("kv_cache", "tensor-parallelism"): ("vLLM", *ENGINES)}
PLACES_WITHOUT = {("memory_limit", "raise-limit"): ("Ray",)}
# A fix that is a list of settings of single programs.
FOLDED_FIXES = {"less-at-once"}

# Settings of one framework that rules/ lists under a common place, known by the fix or by the variable that they set.
FIX_PLACES = {"jax-": "JAX", "tf-": "TensorFlow", "paddle-": "Paddle", "mps-": "Mac"}
VARIABLE_PLACES = {"XLA_": "JAX", "LIBTPU": "JAX", "FLAGS_": "Paddle", "TF_": "TensorFlow", "HIP_": "AMD",
                   "ASCEND": "Ascend", "ZE_": "Intel", "amd-smi": "AMD", "npu-smi": "Ascend", "xpu-smi": "Intel",
                   "torch.mps": "Mac"}

COSTS = ("no slowdown", "slightly slower", "5 to 25% slower", "25 to 50% slower", "more than 50% slower")
RISKS = ("", "numerics differ slightly", "hyper-parameters may need retuning", "the result changes")

# How a reason reads where the value of the log is missing: by fact, otherwise by the fact's unit.
WORDS = {
    "settings.end_reason": "REASON", "join.newcomer": "another process",
    "settings.plan_operation": "one operation",
    "settings.double_tensor": "its shape",
    "trace.buffer": "of one shape",
    "settings.plan_shape": "of one shape",
    "settings.earlier_input": "INPUT",
    "settings.profiled_tokens": "−N",
    "settings.array_shape": "(N, M)", "settings.array_type": "float64", "account.content": "tensors",
    "account.whole": "the GPU", "settings.plan_source": "train.py:N",
    "settings.killed_worker": "KilledWorker",
    "settings.nanny_share": "95% of its memory limit",
    "settings.use_at_kill": "X of Y GiB of RAM and Z of V GiB of swap were in use, each more than 90%",
    "account.holders": "other processes",
    "host.heap": "such as java-heap",
    "host.victim": "process B",
    "host.rise": "from X to Y GiB",
    "settings.killer_asker": "process A",
    "masked.status": "a status",
    "settings.memory_group": "of the job",
    "settings.group_in_trace": "mem_cgroup_out_of_memory",
    "settings.largest_user": "process A",
    "settings.machine_swap": "Y GiB",
    "settings.memory_pressure": "X%",
    "settings.earlyoom_limit": "X%",
    "settings.refused_label": "\"label\"",
    "settings.module_name": "JointTextEncoder",
    "settings.milestone": "Before creating fp16 partitions",
    "settings.live_tensors": "2 × (N, M) float32, X GiB each",
    "settings.refused_tensor": "[N, M] of an operation",
    "settings.used_chunks": "N of X MiB, together Y GiB",
    "trend.rate": "X MiB per step",
    "trend.last_rate": "X MiB per step",
    "trend.increment": "each step keeps tensors of a known size, for example the hidden states of a batch",
    "snapshot.growth": "train.py:N keeps X MiB more each step",
    "snapshot.growth_line": "train.py:N",
    "run.progress": "N steps",
    "run.steep": "memory has few values, each far above the one before, and one more such rise fills the GPU",
}
SMALL_REQUEST = ("was only {oom.request}", "was only X KiB")
VALUES = {"bytes": ("XYZVW", " GiB"), "ratio": ("XYZVW", "%"), "count": ("NMK", "")}

# Values of a setting that the page can name; every other one becomes "…".
SETTING_WORDS = {
    "platform.torch": "cuda", "platform.alloc_conf": "PYTORCH_CUDA_ALLOC_CONF", "advice.batch_key": "batch_size", "host.smaller_type": "float32",
    "advice.accumulation_key": "accumulation_steps", "account.external_pid": "PID", "account.stop_pids": "PID", "settings.memory_unit": "UNIT", "settings.slurm_job": "JOB", "settings.amdsmi_error": "N",
}

PLACEHOLDER = re.compile(r"(?<!\{)\{([a-z0-9(][^{}]*)\}")
GENERATED = re.compile(r"<!-- generated: (\w+) -->\n(.*?)<!-- end -->\n", re.DOTALL)


def rules(kind):
    return {path.stem: tomllib.loads(path.read_text(encoding="utf-8"))
            for path in sorted((ROOT / "rules" / kind).glob("*.toml"))}


def units():
    """The unit of each fact, as src/facts/fact_specs.cc declares them."""
    declarations = (ROOT / "src" / "facts" / "fact_specs.cc").read_text(encoding="utf-8")
    return dict(re.findall(r'\{"([\w.]+)",\s*(\w+),', declarations))


CAUSES = rules("causes")
FIXES = rules("fixes")
for program in sorted(rules("programs").values(), key=lambda program: (-program.get("rank", 1), program["name"])):
    for setting in program.get("set", []):
        FIXES[setting["fix"]].setdefault("set", []).append(setting | {"for": program["name"]})
UNITS = units()


def reason(text):
    """A reason with letters in place of the log's values: the same letter for the same value."""
    named, used = {}, {}

    def value(match):
        expression = match[1].split(":")[0].strip()
        if expression not in named:
            fact = re.search(r"[a-z]+\.[a-z_]+", expression)[0]
            if fact in WORDS:
                named[expression] = WORDS[fact]
            else:
                if UNITS.get(fact) not in VALUES:
                    raise ValueError(f"{fact} needs words in WORDS: {text}")
                letters, unit = VALUES[UNITS[fact]]
                if match[1].endswith((":.1", ":.2")):
                    unit = ""
                number = used[letters] = used.get(letters, -1) + 1
                named[expression] = letters[number] + unit
        return named[expression]

    return PLACEHOLDER.sub(value, text.replace(*SMALL_REQUEST)).replace("|", "\\|")


def effect(sign):
    weight = sign["weight"]
    if sign.get("definitional") and weight > 0:
        return "proves it"
    if weight == 0:
        return "context only"
    strength = "strongly " if abs(weight) >= 4 else "" if abs(weight) >= 1.5 else "slightly "
    return strength + ("for" if weight > 0 else "against")


def sign_rows(signs):
    effects = {}
    for sign in signs:  # some reasons have several conditions: the strongest counts
        effects.setdefault(reason(sign["why"]), effect(sign))
    return [f"| {text} | {how} |" for text, how in effects.items()]


def signs_of(cause_id):
    cause = CAUSES[cause_id]
    ordered = sorted(cause["sign"], key=lambda sign: (not sign.get("definitional"), -sign["weight"]))
    speaking_for = sign_rows(sign for sign in ordered if sign["weight"] > 0)
    context = sign_rows(sign for sign in ordered if sign["weight"] == 0)
    against = sign_rows(reversed([sign for sign in ordered if sign["weight"] < 0]))
    values = "`X`, `Y` and `N` are values from your log. " if re.search(r"\b[XN]\b", "".join(speaking_for)) else ""
    lines = [f"The report prints each sign that applies. {values}`oomdoctor explain {cause_id}` shows conditions and "
             "weights.", "", "| Sign | Evidence |", "|---|---|", *speaking_for, *context]
    if against:
        lines += ["", "<details>", f"<summary>Signs against this cause ({len(against)})</summary>", "",
                  "| Sign | Evidence |", "|---|---|", *against, "", "</details>"]
    for ceiling in cause.get("ceiling", []):
        lines += ["", f"At most {ceiling['at_most']:.0%} sure: {reason(ceiling['why'])}."]
    if "impossible" in cause:
        lines += ["", f"Ruled out: {reason(cause['impossible'])}."]
    if others := [f"- {other['title']}" for other in cause.get("other_title", [])]:
        lines += ["", "Where a more exact title fits, the report uses it:", "", *others]
    return lines


def first_sentence(text):
    return re.split(r"(?<=[.!?])\s+(?=[A-Z0-9{`])", text.strip())[0]


def is_known(placeholder):
    return placeholder[1].split(":")[0].strip() in SETTING_WORDS


def setting_text(raw):
    """A setting, and whether it misses a value of the log. Clauses of its comments that miss one are left out. A gap
    such as <JOB> is printed as JOB."""
    def value(placeholder):
        return SETTING_WORDS[placeholder[1].split(":")[0].strip()] if is_known(placeholder) else "…"

    lines = []
    missing = False
    for line in raw.strip().split("\n"):
        code, mark, comment = line.partition("   # ")
        missing = missing or not all(map(is_known, PLACEHOLDER.finditer(code)))
        clauses = [clause for clause in comment.split("; ") if all(map(is_known, PLACEHOLDER.finditer(clause)))]
        lines.append(PLACEHOLDER.sub(value, code + (mark + "; ".join(clauses) if any(clauses) else "")))
    return re.sub(r"<([A-Z]+)>", r"\1", "\n".join(lines)).replace("{{", "{"), missing


def place_of(fix_id, setting):
    if setting["for"] in ("environment", "shell", "plain PyTorch"):
        for prefix, place in FIX_PLACES.items():
            if fix_id.startswith(prefix):
                return place
        for word, place in VARIABLE_PLACES.items():
            if re.match(rf"(export |print\(step, )?{re.escape(word)}", setting["text"]):
                return place
    return setting["for"]


def settings_of(fix_id, cause_id):
    """(place, text) of the settings of a fix: where one needs no value of the log, those that do are left out."""
    by_place = {}
    for setting in FIXES[fix_id].get("set", []):
        place = place_of(fix_id, setting)
        key = (cause_id, fix_id)
        if place in PLACES_ONLY.get(key, (place,)) and place not in PLACES_WITHOUT.get(key, ()):
            by_place.setdefault(place, []).append(setting_text(setting["text"]))
    pairs = []
    for place, texts in by_place.items():
        complete = [text for text, missing in texts if not missing]
        pairs += [(place, text) for text in dict.fromkeys(complete or [texts[0][0]])]
    return pairs


def shown_setting(fix_id, cause_id):
    """The setting that the page shows, or None where a fix belongs to one framework or program alone."""
    if fix_id in FOLDED_FIXES:
        return None
    for group in [*PLACES_FIRST.get(cause_id, []), COMMON_PLACES, HUGGING_FACE_PLACES]:
        for place, text in settings_of(fix_id, cause_id):
            if place in group:
                return place, text
    return settings_of(fix_id, cause_id)[0] if (cause_id, fix_id) in PLACES_ONLY else None


def priority(fix_id):
    """What the order of the report comes to where nothing is known of a run."""
    fix = FIXES[fix_id]
    return -fix.get("rank", 1) / ((1 + fix["cost"]) * (1 + fix["risk"])), fix_id


def fix_name(fix_id):
    fix = FIXES[fix_id]
    grades = "costs nothing" if fix["cost"] == fix["risk"] == 0 and fix["kind"] != "outside" else ", ".join(
        filter(None, (COSTS[fix["cost"]], RISKS[fix["risk"]])))
    return f"**{fix['title']}** ([`{fix_id}`](../../rules/fixes/{fix_id}.toml), {grades})"


def fix_item(fix_id, place, text):
    code = [f"  {line}" for line in text.split("\n")]
    return [f"- {fix_name(fix_id)}. {first_sentence(FIXES[fix_id]['why'])} {COMMON_PLACES.get(place, place)}:", "",
            "  ```text", *code, "  ```"]


def folded_item(fix_id, pairs, is_shown):
    lines = [f"- **{FIXES[fix_id]['title']}** (`{fix_id}`)" if is_shown else
             f"- {fix_name(fix_id)}. {first_sentence(FIXES[fix_id]['why'])}"]
    for place, text in pairs:
        fence = "``" if "`" in text else "`"
        code = "<br>".join(f"{fence}{line}{fence}" for line in text.split("\n"))
        lines.append(f"  - {COMMON_PLACES.get(place, place)}: {code}")
    return lines


def fixes_of(cause_id):
    ids = sorted((fix_id for fix_id, fix in FIXES.items() if cause_id in fix["for"]), key=priority)
    shown = {fix_id: shown_setting(fix_id, cause_id) for fix_id in ids if shown_setting(fix_id, cause_id)}
    helping = [fix_id for fix_id in shown if FIXES[fix_id]["kind"] != "diagnostic"]
    diagnostics = [fix_id for fix_id in shown if FIXES[fix_id]["kind"] == "diagnostic"]
    lines = ["oomdoctor sorts these fixes by what your log shows, and leaves out those that cannot help."]
    open_fixes = helping if len(helping) <= OPEN_FIXES + 2 else helping[:OPEN_FIXES]
    for fix_id in open_fixes:
        lines += ["", *fix_item(fix_id, *shown[fix_id])]
    if more := helping[len(open_fixes):]:
        lines += ["", "<details>", f"<summary>{len(more)} more fixes</summary>"]
        for fix_id in more:
            lines += ["", *fix_item(fix_id, *shown[fix_id])]
        lines += ["", "</details>"]
    if diagnostics:
        lines += ["", "To narrow it down:"]
    for fix_id in diagnostics:
        lines += ["", *fix_item(fix_id, *shown[fix_id])]
    folded = []
    for fix_id in ids:
        pairs = [pair for pair in settings_of(fix_id, cause_id) if pair != shown.get(fix_id)]
        if pairs:
            folded += folded_item(fix_id, pairs, fix_id in shown)
    if folded:
        lines += ["", "<details>", "<summary>Settings for other frameworks and programs</summary>", "", *folded, "",
                  "</details>"]
    return lines


def index():
    """A row for each cause, with the first sentence of its page."""
    lines = ["| Cause | Id | What it means |", "|---|---|---|"]
    for cause_id, cause in CAUSES.items():
        page = PAGES / f"{cause_id}.md"
        meaning = page.read_text(encoding="utf-8").partition("## What it means\n")[2] if page.exists() else ""
        lines.append(f"| [{cause['title']}]({cause_id}.md) | `{cause_id}` | {first_sentence(meaning)} |")
    return lines


def generated(name, page_id):
    return {"signs": signs_of, "fixes": fixes_of, "causes": lambda _: index()}[name](page_id)


def renewed(page, page_id):
    """The page with its generated parts brought up to date."""
    def part(match):
        return "\n".join([f"<!-- generated: {match[1]} -->", *generated(match[1], page_id), "<!-- end -->", ""])

    page = GENERATED.sub(part, page)
    if page_id in CAUSES:
        page = re.sub(r"\A# .*\n", lambda _: f"# {CAUSES[page_id]['title']}\n", page)
    return page


def empty_page(cause_id):
    parts = {"How oomdoctor detects it": "signs", "How to fix it": "fixes"}
    lines = [f"# {CAUSES[cause_id]['title']}", "", f"Cause id: `{cause_id}`. [All causes](README.md)", ""]
    for section in SECTIONS:
        lines += [f"## {section}", ""]
        if section in parts:
            lines += [f"<!-- generated: {parts[section]} -->", "<!-- end -->", ""]
    return "\n".join(lines)


def accept():
    PAGES.mkdir(parents=True, exist_ok=True)
    for page_id in [*CAUSES, "README"]:
        path = PAGES / f"{page_id}.md"
        if path.exists() or page_id in CAUSES:
            page = path.read_text(encoding="utf-8") if path.exists() else empty_page(page_id)
            path.write_text(renewed(page, page_id), encoding="utf-8")


def prose(page):
    """The sentences of a page: without code, and without the marks of tables, lists and links."""
    page = re.sub(r"^ *```.*?^ *```", "\n", page, flags=re.DOTALL | re.MULTILINE)
    page = re.sub(r"<!--.*?-->|</?\w+>", "\n", page, flags=re.DOTALL)
    page = re.sub(r"(``?)(?!`).+?\1", "x", page)
    page = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", page)
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-|#]|\d+\.)\s?)|(?<!\\)\|", page):
        for sentence in re.split(r"(?<=[.!?])\s+", " ".join(block.split())):
            if sentence.strip("|-# "):
                yield sentence.strip("|# ")


class CausePages(unittest.TestCase):
    def pages(self):
        for path in sorted(PAGES.glob("*.md")):
            yield path, path.read_text(encoding="utf-8")

    def test_every_cause_has_a_page_and_every_page_a_cause(self):
        self.assertEqual([*CAUSES], sorted(path.stem for path, _ in self.pages() if path.stem != "README"))
        self.assertTrue((PAGES / "README.md").exists())

    def test_generated_parts_are_up_to_date(self):
        for path, page in self.pages():
            self.assertEqual(page, renewed(page, path.stem),
                             f"{path.name} is stale: run tests/docs/cause_pages.py --accept")

    def test_every_page_has_its_sections(self):
        for path, page in self.pages():
            if path.stem == "README":
                self.assertEqual(["causes"], [name for name, _ in GENERATED.findall(page)])
                continue
            self.assertEqual([*SECTIONS], re.findall(r"^## (.+)$", page, re.MULTILINE), path.name)
            self.assertEqual(["signs", "fixes"], [name for name, _ in GENERATED.findall(page)], path.name)
            for section in re.split(r"^## ", GENERATED.sub("x", page), flags=re.MULTILINE)[1:]:
                heading, _, text = section.partition("\n")
                self.assertTrue(text.strip(), f"{path.name}: {heading} is empty")

    def test_costs_are_named_as_in_a_report(self):
        grades = (ROOT / "src" / "report" / "advice_words.cc").read_text(encoding="utf-8")
        for words in filter(None, (*COSTS, *RISKS)):
            self.assertIn(f'"{words}"', grades)

    def test_every_fix_of_a_cause_is_on_its_page(self):
        for path, page in self.pages():
            for fix_id, fix in FIXES.items():
                if path.stem in fix["for"]:
                    self.assertIn(f"(../../rules/fixes/{fix_id}.toml)", page, path.name)

    def test_links(self):
        for path, page in self.pages():
            for target in re.findall(r"\]\(([^)\s]+)\)", page):
                if target.startswith("https://"):
                    self.assertIn(target.split("/")[2], DOCUMENTATION, f"{path.name}: {target}")
                else:
                    file, _, anchor = target.partition("#")
                    self.assertTrue((path.parent / file).exists(), f"{path.name}: {target}")
                    self.assertFalse(anchor, f"{path.name}: {target}: link to the page, not to a part of it")

    def test_examples(self):
        """The first sample of a page shows its cause, by the expected result beside it."""
        for path, page in self.pages():
            if path.stem == "README":
                continue
            example = page.partition("## Example\n")[2].partition("## ")[0]
            samples = re.findall(r"\bsamples/[\w./-]+\w", example)
            self.assertTrue(samples and "oomdoctor analyze" in example, path.name)
            for sample in samples:
                self.assertTrue((ROOT / sample).exists(), f"{path.name}: {sample}")
            expected = json.loads((ROOT / samples[0]).with_suffix(".json").read_text(encoding="utf-8"))
            if path.stem not in WITHOUT_SAMPLE:
                self.assertEqual(path.stem, expected["cause"], f"{path.name}: {samples[0]}")

    def test_words(self):
        for path, page in self.pages():
            for sentence in prose(page):
                for avoided, instead in AVOIDED.items():
                    found = re.search(avoided, sentence, re.IGNORECASE)
                    if found and found[0].lower() not in WORDS_ALLOWED.get(path.stem, ()):
                        self.fail(f"{path.name}: '{found[0]}'; write: {instead}: {sentence}")
                self.assertNotRegex(sentence, r"\d %", path.name)

    def test_sentences_are_short(self):
        for path, page in self.pages():
            for sentence in prose(page):
                self.assertLessEqual(len(sentence.split()), LONGEST_SENTENCE, f"{path.name}: {sentence}")


if __name__ == "__main__":
    if "--accept" in sys.argv[1:]:
        accept()
    else:
        unittest.main()
