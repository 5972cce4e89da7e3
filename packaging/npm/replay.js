#!/usr/bin/env node
// Starts the program of this platform's package in place of itself, or else as a child that gets its signals.
'use strict';
const fs = require('fs');
const { name, version, optionalDependencies } = require('../package.json');

const platform = `${process.platform}-${process.arch}`;
const dependency = `${name}-${platform}`;

function fail(message) {
  console.error(`replay: ${message}`);
  process.exit(127);
}

function findProgram() {
  if (!(dependency in optionalDependencies)) {
    fail(`no program for ${platform}; packages: ${Object.keys(optionalDependencies).join(', ')}`);
  }
  let program;
  try {
    program = require.resolve(`${dependency}/bin/replay`);
  } catch {
    fail(
      `the package ${dependency}@${version} is missing on ${platform}; install ${name} ` +
        'on this platform, with optional dependencies (npm install --include=optional)',
    );
  }
  try {
    fs.accessSync(program, fs.constants.X_OK);
  } catch (error) {
    fail(error.message);
  }
  return program;
}

// Returns true if this process and its child both get the signals of a terminal.
function isForeground() {
  const stat = fs.readFileSync('/proc/self/stat', 'utf8');
  const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return group === foreground;
}

function runAsChild(program, words) {
  const child = require('child_process').spawn(program, words, { stdio: 'inherit' });
  child.on('error', (error) => fail(error.message));
  for (const signal of ['SIGHUP', 'SIGTERM', 'SIGUSR1', 'SIGUSR2']) {
    process.on(signal, () => child.kill(signal));
  }
  for (const signal of ['SIGINT', 'SIGQUIT']) {
    // The server ends at once after a second one.
    process.on(signal, () => isForeground() || child.kill(signal));
  }
  child.on('exit', (status, signal) => {
    if (signal === null) process.exit(status);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    // This process ignores the signal.
    process.exit(128 + require('os').constants.signals[signal]);
  });
}

const program = findProgram();
const words = process.argv.slice(2);
// Node.js 22.15, 23.11 and newer.
if (process.execve) process.execve(program, [program, ...words], process.env);
runAsChild(program, words);
