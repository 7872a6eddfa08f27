#!/usr/bin/env node
// Becomes the program of the package for this platform. Node.js before 22.15 cannot; there it starts the program,
// passes signals on, stops when the program stops, and ends as it ends. Where no such package is installed, it runs the program's
// WebAssembly version.
"use strict";
const { spawn } = require("child_process");
const fs = require("fs");
const path = require("path");
const { signals } = require("os").constants;

// Signals that a terminal sends to the whole foreground group, so the program of this group has them already. A second
// one could end what the first one began to clean up. The kernel does not show Node.js who sent a signal. So in the
// foreground of a terminal, these are not passed on.
const FROM_TERMINAL = ["SIGINT", "SIGQUIT", "SIGTSTP", "SIGWINCH"];
// Nobody can catch the first two. The kernel raises the faults in Node.js itself. SIGCHLD is about the program.
const NOT_PASSED = ["SIGKILL", "SIGSTOP", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV", "SIGCHLD"];

const platform = `oomdoctor-${process.platform}-${process.arch}`;

function installedProgram() {
  try {
    return require.resolve(`${platform}/bin/oomdoctor`);
  } catch (missing) {
    return null;
  }
}

function fail(text) {
  console.error(`oomdoctor: ${text}`);
  process.exit(2);
}

// The state of a process ("T" is stopped) and its terminal, from /proc.
function look(pid) {
  try {
    const text = fs.readFileSync(`/proc/${pid}/stat`, "latin1");
    const [state, , group, , terminal, foreground] = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { state, hasTerminal: terminal !== "0", inForeground: terminal !== "0" && group === foreground };
  } catch (unreadable) {
    return { state: "", hasTerminal: false, inForeground: false };
  }
}

function become(program, words) {
  // Node.js ignores these two, and an ignored signal would stay ignored in the program. A caught one does not.
  for (const name of ["SIGPIPE", "SIGXFSZ"]) process.on(name, () => {});
  process.execve(program, [program, ...words], process.env);
}

function accompany(program, words) {
  const passed = Object.keys(signals).filter((name, at, names) =>
    !NOT_PASSED.includes(name) && names.findIndex((other) => signals[other] === signals[name]) === at);
  let child;
  for (const name of passed) {
    process.on(name, () => {
      if (!FROM_TERMINAL.includes(name) || !look("self").inForeground) child.kill(name);
    });
  }
  // The shell of the terminal waits for this process, so it must see a stop of the program, too.
  process.on("SIGCHLD", () => {
    if (look(child.pid).state === "T" && look("self").hasTerminal) process.kill(process.pid, "SIGSTOP");
  });
  child = spawn(program, words, { stdio: "inherit" });
  child.on("error", (error) => child.pid === undefined && fail(`${program}: ${error.message}`));
  child.on("exit", (status, signal) => {
    if (signal === null) process.exit(status);
    for (const name of passed) process.removeAllListeners(name);
    process.kill(process.pid, signal);
    setTimeout(() => process.exit(128 + signals[signal]), 100);  // if the signal does not end this process
  });
}

function runHere() {
  const module = path.join(__dirname, "..", "node", "oomdoctor.js");
  if (!fs.existsSync(module)) fail(`the package ${platform} is not installed. Programs exist for linux-x64 and linux-arm64; ` +
                                   "npm installs them unless it runs with --no-optional");
  if (typeof WebAssembly !== "object" || !WebAssembly.Tag) fail(`without the package ${platform} it needs Node.js 18 or newer`);
  process.on("uncaughtException", (error) => fail(`internal error: ${error.message}`));
  // The shells of Windows leave patterns as they are, and the program takes "\\" in one as POSIX does.
  if (process.platform === "win32")
    process.argv = process.argv.map((word, at) => at > 1 && /[*?]/.test(word) ? word.replace(/\\/g, "/") : word);
  require(module);
}

const program = installedProgram();
if (program === null) {
  runHere();
} else {
  try {
    fs.accessSync(program, fs.constants.X_OK);
  } catch (error) {
    fail(`${program}: ${error.message}`);
  }
  (process.execve ? become : accompany)(program, process.argv.slice(2));
}
