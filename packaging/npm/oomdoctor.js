#!/usr/bin/env node
// Starts the program of the package for this platform, and ends as it ends.
"use strict";
const { spawnSync } = require("child_process");

const platform = `oomdoctor-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${platform}/bin/oomdoctor`);
} catch (missing) {
  console.error(`oomdoctor: the package ${platform} is not installed. Programs exist for linux-x64 and linux-arm64; ` +
                "npm installs them unless it runs with --no-optional");
  process.exit(2);
}
const done = spawnSync(program, process.argv.slice(2), { stdio: "inherit" });
if (done.error) {
  console.error(`oomdoctor: ${program}: ${done.error.message}`);
  process.exit(2);
}
if (done.signal) process.kill(process.pid, done.signal);
process.exitCode = done.status;
