// What the reporter for Jest writes of what old versions hand over: titles as they are, a `testRegex` that is a text.
//
// usage: node jest_reporter.mjs REPORTER DIR
//
// Prints one line per check; exits with 1 if one failed.

import fs from "node:fs";
import path from "node:path";
import process from "node:process";
import { createRequire } from "node:module";

import { check, status } from "./checks.mjs";

const [, , reporter, dir] = process.argv;
const report = path.join(fs.mkdtempSync(path.join(dir, "jest-")), "report");
process.env.REPLAY_TEST_REPORT = report;
const Reporter = createRequire(import.meta.url)(path.resolve(reporter));
const told = new Reporter({ forceExit: true });
class Cart {}
const test = { path: "/p/a.test.js" };
const result = { ancestorTitles: [Cart, 7], title: Cart, status: "passed" };
told.onRunStart({ numTotalTestSuites: 1 });
told.onTestFileStart(test);
told.onTestResult(test, { testFilePath: test.path, numFailingTests: 0, testResults: [result] });
const config = { rootDir: "/p", testRegex: "spec\\.js$" };
told.onRunComplete([{ config }], { numFailedTests: 0, numRuntimeErrorTestSuites: 0, numTotalTestSuites: 1 });
const events = fs.readFileSync(report, "utf8").trim().split("\n").map((line) => JSON.parse(line));
const named = events.filter((event) => event.event === "test").map((one) => [one.suite, one.name]);
check("Jest: titles may be anything", JSON.stringify(named) === '[[["Cart","7"],"Cart"]]', events);
const takes = events.find((event) => event.event === "patterns")?.options;
check("Jest: a text is one pattern", JSON.stringify(takes) === JSON.stringify(["testRegex: spec\\.js$"]), events);
fs.rmSync(path.dirname(report), { recursive: true });
process.exit(status());
