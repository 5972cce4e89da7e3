// Vitest reporter (3.2 and newer).
import fs from 'node:fs'
import path from 'node:path'

const OWN_NAME = path.basename(import.meta.url)
const MAX_FRAMES = 20
const MAX_LOGS = 100
const MAX_OPTIONS = 20
const MAX_PLANNED = 2000

// Default exclusions of Vitest 3 to 5.
const USUAL = new Set([
  '**/node_modules/**',
  '**/.git/**',
  '**/dist/**',
  '**/cypress/**',
  '**/.{idea,git,cache,output,temp}/**',
  '**/{karma,rollup,webpack,vite,vitest,jest,ava,babel,nyc,cypress,tsup,build,eslint,prettier}.config.*',
])

export default class {
  logs = new Map()
  begun = new Set()
  told = new Set()
  ended = new Set()
  unhandled = []
  isClosed = false

  onInit(vitest) {
    this.root = vitest.config?.root ?? process.cwd()
    this.snapshot = vitest.snapshot
    this.events = new EventFile()
    this.closes = this.watchClose(vitest)
    this.write({ event: 'run_start', version: vitest.version })
    this.watchFailure(vitest.logger)
    const options = this.excluding(vitest)
    if (options.length) this.write({ event: 'excluding', options })
    this.write({ event: 'patterns', options: this.patterns(vitest) })
  }

  patterns(vitest) {
    const found = new Set()
    const projects = (vitest.projects ?? []).map((project) => project.config)
    for (const config of projects.length ? projects : [vitest.config]) {
      if (config?.dir && config.dir !== this.root) found.add(`dir: ${shown(path.relative(this.root, config.dir))}`)
      for (const glob of config?.include ?? []) found.add(`include: ${shown(glob)}`)
    }
    return [...found].slice(0, MAX_OPTIONS)
  }

  excluding(vitest) {
    const found = new Set()
    const isAsked = process.argv.some((word) => word.startsWith('--testNamePattern') || word === '-t')
    for (const config of [vitest.config, ...(vitest.projects ?? []).map((project) => project.config)]) {
      for (const glob of config?.exclude ?? []) if (!USUAL.has(glob)) found.add(`exclude: ${shown(glob)}`)
      if (config?.testNamePattern && !isAsked) found.add(`testNamePattern: ${shown(String(config.testNamePattern))}`)
      for (const tag of config?.tagsFilter ?? []) found.add(`tagsFilter: ${shown(tag)}`)
    }
    return [...found].slice(0, MAX_OPTIONS)
  }

  // Global set-ups are torn down after the end event. The exit code need not show their errors.
  watchClose(vitest) {
    const close = vitest.close
    if (typeof close !== 'function') return false
    vitest.close = async (...args) => {
      const { logger } = vitest
      const log = logger.error
      const errors = []
      logger.error = (...words) => {
        if (words[0] === 'error during close') errors.push(words[1])
        return log.apply(logger, words)
      }
      try {
        return await close.apply(vitest, args)
      } catch (error) {
        errors.push(error)
        throw error
      } finally {
        logger.error = log
        this.closed(errors)
      }
    }
    return true
  }

  // Errors before the first test are printed, and not passed to reporters.
  watchFailure(logger) {
    const print = logger?.printError
    if (typeof print !== 'function') return
    logger.printError = (error, options, ...rest) => {
      const isTold = options?.type !== 'Unhandled Error' || this.unhandled.includes(error)
      if (!isTold) this.write({ event: 'run_error', ...this.error(error), kind: options.type })
      return print.call(logger, error, options, ...rest)
    }
  }

  closed(errors) {
    if (this.isClosed) return
    this.isClosed = true
    // Omit the frames of this file.
    const foreign = (line) => !line.includes(OWN_NAME)
    const told = errors.slice(0, 20).map((error) => {
      const { trace, ...rest } = this.error(error)
      return { ...rest, kind: 'error after the tests', trace: trace?.split('\n').filter(foreign).join('\n') }
    })
    this.write({ event: 'over', errors: told })
  }

  // Open handles keep Vitest from ending: the tests have ended, and Vitest counts that as success.
  onProcessTimeout() {
    this.closed([])
  }

  write(event) {
    this.events.write(event)
  }

  error(error) {
    // Errors without values have them too, as the text `undefined`.
    const told = thrown(error, error?.diff !== undefined)
    if (!isObject(error)) return told
    return {
      ...told,
      diff: shown(error.diff),
      stack: error.stacks
        ?.slice(0, MAX_FRAMES)
        .map(({ file, line, column, method }) => ({ file, line, column, function: method || undefined })),
      // Vitest 3 leaves `stacks` empty.
      trace: error.stacks?.length ? undefined : told.trace,
      // The bundler puts the place of syntax errors here.
      line: error.loc?.line,
      column: error.loc?.column,
    }
  }

  // Vitest runs a file once for each project.
  file(module) {
    const file = module.relativeModuleId ?? path.relative(this.root, module.moduleId)
    return { file, project: module.project?.name || undefined }
  }

  // `file` is relative to Vitest's own root, which may differ from its working directory.
  whole(module) {
    return { ...this.file(module), path: path.isAbsolute(module.moduleId) ? module.moduleId : undefined }
  }

  suites(task) {
    const names = []
    for (let parent = task.parent; parent?.type === 'suite'; parent = parent.parent) names.unshift(parent.name)
    return names
  }

  onUserConsoleLog(log) {
    const key = log.taskId ?? ''
    const logs = this.logs.get(key) ?? []
    if (logs.length < MAX_LOGS) logs.push({ stream: log.type, text: cut(log.content) })
    this.logs.set(key, logs)
  }

  onTestRunStart(specifications) {
    const files = specifications.slice(0, MAX_PLANNED).map((specification) => ({
      ...this.file(specification),
      file: path.relative(this.root, specification.moduleId),
    }))
    this.write({ event: 'planned', files })
  }

  onTestModuleQueued(module) {
    this.write({ event: 'file_start', ...this.whole(module) })
  }

  onTestModuleCollected(module) {
    const tests = [...module.children.allTests()].length
    this.write({ event: 'collected', ...this.whole(module), tests })
  }

  name(test) {
    return { ...this.file(test.module), suite: this.suites(test), name: test.name }
  }

  onTestCaseReady(test) {
    this.begun.add(test.id)
    this.write({ event: 'test_start', ...this.name(test) })
  }

  state(test, result, errors) {
    const mode = test.options?.mode
    if (result.state === 'passed') return 'passed'
    if (result.state === 'failed') {
      return errors.some((error) => error.message.startsWith('Test timed out in ')) ? 'timed_out' : 'failed'
    }
    if (mode === 'todo') return 'todo'
    if (!this.begun.has(test.id) && mode !== 'skip') return 'not_run'
    return result.state === 'skipped' ? 'skipped' : 'not_run'
  }

  onTestCaseResult(test) {
    if (this.told.has(test.id)) return
    this.told.add(test.id)
    const result = test.result()
    const diagnostic = test.diagnostic?.()
    const failed = result.state === 'failed'
    const errors = failed ? (result.errors ?? []).slice(0, 10).map((error) => this.error(error)) : []
    const logs = (failed && this.logs.get(test.id)) || []
    const output = (stream) => logs.filter((log) => log.stream === stream).map((log) => log.text).join('') || undefined
    this.write({
      event: 'test',
      ...this.name(test),
      state: this.state(test, result, errors),
      ms: diagnostic?.duration,
      retries: diagnostic?.retryCount || undefined,
      line: test.location?.line,
      column: test.location?.column,
      errors,
      stdout: output('stdout'),
      stderr: output('stderr'),
    })
    this.logs.delete(test.id)
  }

  onTestModuleEnd(module) {
    if (this.ended.has(module)) return
    this.ended.add(module)
    // No other event reports tests that never began because a hook before them failed.
    for (const test of module.children.allTests()) this.onTestCaseResult(test)
    const errors = module.errors().map((error) => this.error(error))
    for (const suite of module.children.allSuites()) {
      const names = [...this.suites(suite), suite.name]
      for (const error of suite.errors()) errors.push({ ...this.error(error), suite: names })
    }
    const tests = [...module.children.allTests()].length
    this.write({ event: 'file_end', ...this.whole(module), tests, errors: errors.slice(0, 10) })
    this.logs.delete(module.id)
  }

  onTestRunEnd(modules, errors, reason) {
    this.unhandled = [...errors]
    // A file whose environment is missing never starts and never ends.
    const open = modules.filter((module) => module.state() === 'pending' || module.state() === 'queued')
    // Vitest 3 has no end event for a file that could not be loaded.
    for (const module of modules) if (!open.includes(module)) this.onTestModuleEnd(module)
    const names = open.slice(0, 100).map((module) => this.file(module).file)
    // Files that `bail` keeps from starting did not cause the end.
    const isStopped = reason === 'interrupted'
    if (isStopped && names.length) this.write({ event: 'unreached', files: names })
    this.write({
      event: 'end',
      passed: reason === 'passed',
      open: isStopped ? [] : names,
      errors: errors.slice(0, 20).map((error) => ({ ...this.error(error), kind: error?.type })),
      snapshots: this.snapshot?.summary?.added,
      goes_on: this.closes && !this.isClosed,
    })
  }
}
