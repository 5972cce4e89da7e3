// Jest reporter (24 and newer). Writes events as JSON lines, each as it happens, to the file in
// REPLAY_TEST_REPORT: after an aborted run or a failed tear-down the earlier events are still there.
//
//   {"ev":"init","files"}                     number of files to run
//   {"ev":"file_start","file"}                a file is being loaded
//   {"ev":"start","file","suite","name"}      a test begins
//   {"ev":"case","file","test"}               it has ended (only from jest-circus)
//   {"ev":"file","file","tests",...}          the file has ended, with all of its tests
//   {"ev":"left_out","options"}               tests that the project's configuration excludes
//   {"ev":"takes","options"}                  its patterns for test files
//   {"ev":"end","success","files","errors","snapshots","goes_on"}   the tests have ended; errors belong to no file
//   {"ev":"held","held"}                      the process still runs some time later: its open handles
//   {"ev":"over"}                             Jest has finished with its tear-down; only with `goes_on`
const fs = require('fs')
const path = require('path')

const MAX_TEXT = 16384
const MAX_OPTIONS = 20
const MAX_HELD = 10
const HELD_AFTER_MS = 3000
// Beyond this limit only names and states are written.
const MAX_DETAIL_CHARS = 32 * 1024 * 1024

const cut = (text) => (text.length > MAX_TEXT ? text.slice(0, MAX_TEXT) : text)

function shown(value) {
  if (value === undefined) return undefined
  if (typeof value === 'string') return cut(value)
  try {
    return cut(JSON.stringify(value) ?? String(value))
  } catch {
    return cut(String(value))
  }
}

// Titles may be classes, functions and numbers, which older versions pass unchanged.
const title = (value) => (typeof value === 'function' ? value.name : String(value))

module.exports = class {
  constructor(config) {
    this.config = config
    // Node 17.3 and newer.
    this.resources = () => process.getActiveResourcesInfo?.() ?? []
    this.usual = this.resources()
    this.written = 0
    this.ended = new Set()
    const file = process.env.REPLAY_TEST_REPORT
    // Processes started by tests must not write there.
    delete process.env.REPLAY_TEST_REPORT
    this.fd = file ? fs.openSync(file, 'a') : undefined
  }

  write(event) {
    if (this.fd === undefined) return
    const line = JSON.stringify(event) + '\n'
    this.written += line.length
    fs.writeSync(this.fd, line)
  }

  test(result) {
    const failed = result.status === 'failed' && this.written < MAX_DETAIL_CHARS
    const details = (result.failureDetails ?? []).map((detail) => {
      const values = detail?.matcherResult
      return values ? { expected: shown(values.expected), actual: shown(values.actual) } : null
    })
    return {
      suite: result.ancestorTitles.map(title),
      name: title(result.title),
      status: result.status,
      ms: result.duration ?? undefined,
      retries: result.invocations > 1 ? result.invocations - 1 : undefined,
      line: result.location?.line,
      column: result.location?.column,
      messages: failed ? result.failureMessages.slice(0, 10).map(shown) : undefined,
      values: failed ? details.slice(0, 10) : undefined,
    }
  }

  onRunStart(results) {
    this.write({ ev: 'init', files: results.numTotalTestSuites })
  }

  onTestFileStart(test) {
    this.write({ ev: 'file_start', file: test.path, project: this.project(test) })
  }

  onTestCaseStart(test, info) {
    const [suite, name] = [info.ancestorTitles.map(title), title(info.title)]
    this.write({ ev: 'start', file: test.path, project: this.project(test), suite, name })
  }

  onTestCaseResult(test, result) {
    this.write({ ev: 'case', file: test.path, project: this.project(test), test: this.test(result) })
  }

  onTestFileResult(test, result) {
    if (this.ended.has(test)) return
    this.ended.add(test)
    const broken = Boolean(result.testExecError)
    this.write({
      ev: 'file',
      file: result.testFilePath ?? test.path,
      project: this.project(test),
      broken: broken || undefined,
      failed: broken || result.numFailingTests > 0,
      message: broken ? cut(result.failureMessage ?? shown(result.testExecError.message) ?? '') : undefined,
      tests: (result.testResults ?? []).map((test) => this.test(test)),
    })
  }

  // Name of the hook in Jest 24.
  onTestResult(test, result) {
    this.onTestFileResult(test, result)
  }

  leftOut(contexts) {
    const found = new Set()
    const isAsked = process.argv.some((word) => word.startsWith('--testNamePattern') || word === '-t')
    const name = this.config?.testNamePattern
    if (name && !isAsked) found.add(`testNamePattern: ${shown(String(name))}`)
    for (const { config } of contexts ?? []) {
      for (const part of config?.testPathIgnorePatterns ?? []) {
        if (part !== '/node_modules/') found.add(`testPathIgnorePatterns: ${shown(part)}`)
      }
    }
    return [...found].slice(0, MAX_OPTIONS)
  }

  takes(contexts) {
    const found = new Set()
    for (const { config } of contexts ?? []) {
      for (const dir of config?.roots ?? []) {
        if (dir !== config.rootDir) found.add(`roots: ${shown(path.relative(config.rootDir, dir))}`)
      }
      for (const glob of config?.testMatch ?? []) found.add(`testMatch: ${shown(glob)}`)
      // Older versions have a string here.
      for (const one of [config?.testRegex ?? []].flat()) found.add(`testRegex: ${shown(one)}`)
    }
    return [...found].slice(0, MAX_OPTIONS)
  }

  onRunComplete(contexts, results) {
    const options = this.leftOut(contexts)
    if (options.length) this.write({ ev: 'left_out', options })
    this.write({ ev: 'takes', options: this.takes(contexts) })
    const error = results.runExecError
    // The process then ends by itself, unless the project sets `forceExit`. An earlier exit hides
    // the remaining work.
    const goesOn = !this.config?.forceExit
    if (goesOn) process.once('beforeExit', () => this.write({ ev: 'over' }))
    setTimeout(() => this.write({ ev: 'held', held: this.held() }), HELD_AFTER_MS).unref()
    this.write({
      ev: 'end',
      // `success` itself is set later.
      success: results.numFailedTests === 0 && results.numRuntimeErrorTestSuites === 0 && !results.wasInterrupted,
      files: results.numTotalTestSuites,
      errors: error ? [shown(error.message) ?? 'undefined'] : [],
      // Snapshots written because there was none.
      snapshots: results.snapshot?.added,
      goes_on: goesOn || undefined,
    })
  }

  held() {
    const usual = [...this.usual]
    const isNew = (name) => !usual.includes(name) || !usual.splice(usual.indexOf(name), 1)
    return this.resources().filter(isNew).slice(0, MAX_HELD)
  }

  // Jest runs a file once for each project.
  project(test) {
    const name = test.context?.config?.displayName
    return name?.name ?? name ?? undefined
  }
}
