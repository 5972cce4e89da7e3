// What the checks of this folder have in common.

import process from "node:process";

let failures = 0;

// Prints one line, and counts it if it failed.
export function check(what, good, seen) {
  if (!good) failures += 1;
  console.log(`${good ? "ok  " : "FAIL"} typescript ${what}${good ? "" : `: ${JSON.stringify(seen)}`}`);
}

// The exit status: 1 if a check failed.
export const status = () => (failures ? 1 : 0);

// Ends the program when it is not done in time.
export function deadline(what, seconds = 60) {
  return setTimeout(() => {
    console.log(`FAIL typescript ${what}: not done within ${seconds} s`);
    process.exit(1);
  }, seconds * 1000);
}
