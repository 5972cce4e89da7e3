// Mocha reporter (8 and newer).
const fs = require('fs')

// Mocha's own directory; its main program is a file of `bin` or of `lib/cli`.
const HOME = fs.realpathSync(process.argv[1]).replace(/\/(bin|lib\/cli)\/[^/]*$/, '')
const MAX_ERRORS = 5

// Also called for errors of hooks, which have a code only in later versions.
const isTimeout = (error) => error?.code === 'ERR_MOCHA_TIMEOUT' || /^Timeout of \d+ms exceeded/.test(error?.message)

// Mocha runs copies of a test that it retries.
function original(test) {
  while (test.retriedTest?.()) test = test.retriedTest()
  return test
}

module.exports = class extends EventFile {
  constructor(runner, options) {
    super()
    this.write({ event: 'run_start' })
    this.runner = runner
    this.files = new Map()
    this.seen = new Set()
    this.isFiltered = Boolean(options?.reporterOption?.filtered)
    this.passed = true
    this.told = new Set()
    // The tests without it are gone when the run starts.
    this.hasOnly = runner.suite.hasOnly?.()
    // Mocha can lose a rejection after its test.
    process.on('unhandledRejection', (reason) => setImmediate(() => this.reject(reason)))
    if (options?.dryRun) this.failRun({ kind: 'dry run', message: 'no test ran: the configuration has `dry-run`' })
    runner.on('start', () => this.start())
    runner.on('test', (test) => this.begin(test))
    runner.on('retry', (test, error) => this.result('attempt', test, 'failed', [error]))
    runner.on('pass', (test) => this.result('test', test, 'passed', []))
    runner.on('pending', (test) => this.result('test', test, 'skipped', []))
    runner.on('fail', (test, error) => this.fail(test, error))
    runner.on('end', () => this.end())
    const index = `${HOME}/lib/reporters/index.`
    const { Spec } = require(index + (fs.existsSync(`${index}cjs`) ? 'cjs' : 'js'))
    // For the log.
    new Spec(runner, options)
  }

  failRun(error) {
    this.passed = false
    this.write({ event: 'run_error', ...error })
  }

  reject(reason) {
    if (!this.told.has(reason)) this.failRun({ kind: 'unhandled rejection', ...thrown(reason) })
    this.told.add(reason)
  }

  // A runner of parallel processes knows no tests before their files have ended.
  start() {
    const tests = []
    this.runner.suite.eachTest((test) => tests.push(test))
    this.tests = tests.filter((test) => this.runner._grep.test(test.fullTitle()) !== Boolean(this.runner._invert))
    for (const test of tests) this.fileOf(test).path ??= test.file
    for (const test of this.tests) this.fileOf(test).left += 1
    const files = [...this.files.keys()]
    const without = files.filter((file) => this.files.get(file).left === 0)
    for (const file of files) {
      const { left } = this.files.get(file)
      if (left) this.write({ event: 'planned', files: [{ file }] })
      else this.write({ event: 'file_end', file, tests: 1 })
    }
    const isFiltered = this.isFiltered
    const grep = tests.length > this.tests.length && !isFiltered ? [`grep: ${this.runner._grep}`] : []
    if (this.hasOnly) grep.push('.only in the tests')
    this.write({ event: 'excluding', options: grep, is_filtered: isFiltered })
    this.write({ event: 'deselected', tests: tests.length - this.tests.length, files: without })
  }

  fileOf({ file }) {
    const known = this.files.get(file) ?? { left: 0, isOpen: false }
    this.files.set(file, known)
    return known
  }

  name(test) {
    const path = test.titlePath()
    return { file: test.file ?? 'unknown', suite: path.slice(0, -1), name: path[path.length - 1] }
  }

  begin(test) {
    const file = this.fileOf(test)
    if (!file.isOpen && file.left) {
      file.isOpen = true
      this.write({ event: 'collected', file: test.file, tests: file.left })
    }
    this.write({ event: 'test_start', ...this.name(test) })
  }

  result(event, test, state, errors) {
    const all = errors.flatMap((error) => [error, ...(error?.multiple ?? [])]).slice(0, MAX_ERRORS)
    this.write({
      event,
      ...this.name(test),
      state,
      ms: test.duration,
      retries: (event === 'test' && test.currentRetry?.()) || undefined,
      errors: all.map((error) => thrown(error)),
    })
    // Mocha can report a test twice, such as one that calls `done` twice.
    if (event === 'attempt' || this.seen.has(original(test))) return
    this.seen.add(original(test))
    const file = this.fileOf(test)
    file.left -= 1
    if (file.left === 0) this.write({ event: 'file_end', file: test.file, tests: 1 })
  }

  fail(test, error) {
    this.passed = false
    this.told.add(error)
    const state = isTimeout(error) ? 'timed_out' : 'failed'
    if (test.type !== 'hook') return this.result('test', test, state, [error])
    const current = test.ctx?.currentTest
    const told = { ...thrown(error), message: `${test.title}: ${thrown(error).message}` }
    if (current && !this.seen.has(original(current)) && test.title.startsWith('"before each"')) {
      this.seen.add(original(current))
      this.fileOf(current).left -= 1
      this.write({ event: 'test', ...this.name(current), state: 'errored', errors: [told] })
    } else {
      const file = test.file ?? test.parent?.file ?? current?.file
      const suite = test.parent?.titlePath?.() ?? []
      if (file) this.write({ event: 'file_end', file, tests: 1, errors: [{ ...told, suite: suite.length ? suite : undefined }] })
      else this.failRun({ kind: 'hook', ...told })
    }
  }

  end() {
    for (const test of this.tests ?? []) if (!this.seen.has(test)) this.result('test', test, 'not_run', [])
    this.write({ event: 'end', passed: this.passed })
  }
}
