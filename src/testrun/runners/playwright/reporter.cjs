// Reporter of Playwright Test.
const fs = require('fs')
const path = require('path')

const MAX_ERRORS = 5
const MAX_OPTIONS = 20
const STATES = { passed: 'passed', failed: 'failed', timedOut: 'timed_out', skipped: 'skipped' }

module.exports = class extends EventFile {
  constructor() {
    super()
    this.write({ event: 'run_start' })
    // Tests that are not reported yet, by file and project.
    this.left = new Map()
    this.told = new Set()
    this.tests = []
    this.passed = true
  }

  printsToStdio() {
    return false
  }

  onBegin(config, suite) {
    this.root = config.rootDir
    this.tests = suite.allTests()
    for (const test of this.tests) {
      const key = this.key(test)
      this.left.set(key, (this.left.get(key) ?? 0) + 1)
    }
    const files = new Map(this.tests.map((test) => [this.key(test), this.file(test)]))
    for (const file of files.values()) this.write({ event: 'planned', files: [file] })
    const found = new Set()
    for (const project of config.projects) {
      if (project.testDir !== config.rootDir) found.add(`testDir: ${shown(path.relative(config.rootDir, project.testDir))}`)
      for (const one of [project.testMatch].flat()) found.add(`testMatch: ${shown(String(one))}`)
      for (const one of [project.testIgnore].flat()) found.add(`testIgnore: ${shown(String(one))}`)
    }
    this.write({ event: 'patterns', options: [...found].slice(0, MAX_OPTIONS) })
  }

  key(test) {
    return JSON.stringify(this.file(test))
  }

  // A file runs once for each project.
  file(test) {
    return { file: test.location.file, project: test.parent.project()?.name || undefined }
  }

  name(test) {
    // The first names are of the root, the project and the file.
    const names = test.titlePath().slice(3)
    return { ...this.file(test), suite: names.slice(0, -1), name: names[names.length - 1] }
  }

  onTestBegin(test) {
    const key = this.key(test)
    if (!this.begun?.has(key)) {
      this.begun = (this.begun ?? new Set()).add(key)
      this.write({ event: 'collected', ...this.file(test), tests: this.left.get(key) ?? 1 })
    }
    this.write({ event: 'test_start', ...this.name(test) })
  }

  onTestEnd(test, result) {
    const isRetried = result.status !== test.expectedStatus && result.status !== 'skipped' && result.retry < test.retries
    if (isRetried) this.write(this.result('attempt', test, result))
    else this.tell(test, result)
  }

  tell(test, result) {
    if (this.told.has(test)) return
    this.told.add(test)
    this.write(result ? this.result('test', test, result) : { event: 'test', ...this.name(test), state: 'not_run' })
    const key = this.key(test)
    this.left.set(key, this.left.get(key) - 1)
    if (this.left.get(key) === 0) this.write({ event: 'file_end', ...this.file(test), tests: 1 })
  }

  state(test, result) {
    if (test.expectedStatus === 'failed' && result.status === 'failed') return 'expected_failure'
    // A failed hook keeps it from running.
    if (result.status === 'skipped' && test.expectedStatus !== 'skipped') return 'not_run'
    return result.status === 'passed' && test.expectedStatus === 'failed' ? 'failed' : (STATES[result.status] ?? 'not_run')
  }

  result(event, test, result) {
    const state = this.state(test, result)
    const isFailed = state === 'failed' || state === 'timed_out'
    const errors = isFailed ? result.errors.slice(0, MAX_ERRORS).map((error) => this.error(error)) : []
    if (isFailed && !errors.length) errors.push({ message: 'expected to fail, but passed' })
    const text = (parts) => (isFailed && cut(parts.map(String).join(''))) || undefined
    const files = isFailed ? result.attachments.filter((attachment) => attachment.path) : []
    return {
      event,
      ...this.name(test),
      state,
      ms: result.duration,
      retries: result.retry || undefined,
      line: test.location.line,
      column: test.location.column,
      errors,
      stdout: text(result.stdout),
      stderr: text(result.stderr),
      attachments: files.slice(0, MAX_OPTIONS).map((attachment) => attachment.path),
    }
  }

  error(error) {
    const { file, line, column } = error.location ?? {}
    const isPlaced = file && !/\n\s+at /.test(error.stack ?? '')
    const message = error.message ?? error.value
    return { ...thrown({ message, stack: error.stack, cause: error.cause }), stack: isPlaced ? [{ file, line, column }] : undefined }
  }

  // An error outside all tests; with a place, one in a file that is loaded.
  onError(error) {
    this.passed = false
    if (error.message === 'Error: No tests found') return
    const { file, line, column } = error.location ?? {}
    const others = 'any other file, since Playwright runs no test if one cannot be loaded'
    if (file && !this.tests.length) this.write({ event: 'unreached', files: [others] })
    if (file) this.write({ event: 'file_end', file, errors: [{ ...this.error(error), line, column }] })
    else this.write({ event: 'run_error', ...this.error(error) })
  }

  onEnd(result) {
    for (const test of this.tests) this.tell(test, test.results.at(-1))
    this.write({ event: 'end', passed: this.passed && result.status === 'passed' })
  }
}
