// Jest reporter (24 and newer).
const fs = require('fs')
const path = require('path')

const MAX_ERRORS = 5
const MAX_OPTIONS = 20
const MAX_HELD = 10
const HELD_AFTER_MS = 3000

// Jest's own words; all others are of tests that did not run.
const STATES = { passed: 'passed', failed: 'failed', todo: 'todo', pending: 'skipped', skipped: 'skipped', disabled: 'skipped' }

// Titles may be classes, functions and numbers, which older versions pass unchanged.
const title = (value) => (typeof value === 'function' ? value.name : String(value))

module.exports = class extends EventFile {
  constructor(config) {
    super()
    this.config = config
    // Node 17.3 and newer.
    this.resources = () => process.getActiveResourcesInfo?.() ?? []
    this.usual = this.resources()
    this.ended = new Set()
  }

  // The event of a test that has ended.
  result(event, test, result) {
    const messages = result.status === 'failed' ? result.failureMessages.slice(0, 10).map(shown) : []
    const errors = messages.slice(0, MAX_ERRORS).map((message, index) => {
      const values = result.failureDetails?.[index]?.matcherResult
      return { message, expected: shown(values?.expected), actual: shown(values?.actual) }
    })
    const timedOut = messages.some((message) => message.includes('Exceeded timeout of '))
    this.write({
      event,
      ...this.name(test, result),
      state: timedOut ? 'timed_out' : (STATES[result.status] ?? 'not_run'),
      ms: result.duration ?? undefined,
      retries: result.invocations > 1 ? result.invocations - 1 : undefined,
      line: result.location?.line,
      column: result.location?.column,
      errors,
    })
  }

  onRunStart() {
    this.write({ event: 'run_start' })
  }

  onTestFileStart(test) {
    this.write({ event: 'file_start', ...this.file(test) })
  }

  onTestCaseStart(test, info) {
    this.write({ event: 'test_start', ...this.name(test, info) })
  }

  // Only from jest-circus, and for each attempt.
  onTestCaseResult(test, result) {
    this.result('attempt', test, result)
  }

  onTestFileResult(test, result) {
    if (this.ended.has(test)) return
    this.ended.add(test)
    const file = { ...test, path: result.testFilePath ?? test.path }
    const results = result.testResults ?? []
    for (const one of results) this.result('test', file, one)
    const error = result.testExecError
    const message = error && cut(result.failureMessage ?? shown(error.message) ?? '')
    this.write({ event: 'file_end', ...this.file(file), tests: results.length, errors: error ? [{ message }] : [] })
  }

  // Name of the hook in Jest 24.
  onTestResult(test, result) {
    this.onTestFileResult(test, result)
  }

  excluding(contexts) {
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

  patterns(contexts) {
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
    const options = this.excluding(contexts)
    if (options.length) this.write({ event: 'excluding', options })
    this.write({ event: 'patterns', options: this.patterns(contexts) })
    const error = results.runExecError
    // The process then ends by itself, unless the project sets `forceExit`. An earlier exit hides
    // the remaining work.
    const goesOn = !this.config?.forceExit
    if (goesOn) process.once('beforeExit', () => this.write({ event: 'over' }))
    setTimeout(() => this.write({ event: 'held', errors: this.held() }), HELD_AFTER_MS).unref()
    this.write({
      event: 'end',
      // `success` itself is set later.
      passed: results.numFailedTests === 0 && results.numRuntimeErrorTestSuites === 0 && !results.wasInterrupted,
      files: results.numTotalTestSuites,
      errors: error ? [{ message: shown(error.message) ?? 'undefined' }] : [],
      // Snapshots written because there was none.
      snapshots: results.snapshot?.added,
      goes_on: goesOn,
    })
  }

  held() {
    const usual = [...this.usual]
    const isNew = (name) => !usual.includes(name) || !usual.splice(usual.indexOf(name), 1)
    return this.resources().filter(isNew).slice(0, MAX_HELD).map((message) => ({ message }))
  }

  // Jest runs a file once for each project.
  file(test) {
    const name = test.context?.config?.displayName
    return { file: test.path, project: name?.name ?? name ?? undefined }
  }

  name(test, info) {
    return { ...this.file(test), suite: info.ancestorTitles.map(title), name: title(info.title) }
  }
}
