# RSpec formatter (3.8 and newer). Writes the events of src/testrun/reports/events.rs to the file in
# REPLAY_TEST_REPORT.
require 'json'
require 'rspec/core'

class ReplayFormatter
  RSpec::Core::Formatters.register self, :start, :example_started, :example_finished, :seed, :dump_summary

  MAX_TEXT = 16_384
  MAX_ERRORS = 5

  # Processes started by tests must not write there.
  REPORT = File.open(ENV.delete('REPLAY_TEST_REPORT') || File::NULL, 'a').tap { |file| file.sync = true }

  def self.write(event, **fields)
    REPORT.write("#{JSON.generate({ event: event, **fields }.compact)}\n")
  end

  def self.text(value)
    value.to_s.dup.force_encoding('UTF-8').scrub[0, MAX_TEXT]
  end

  def self.error(exception, metadata = nil)
    backtrace = RSpec.configuration.backtrace_formatter.format_backtrace(exception.backtrace || [], metadata || {})
    message, diff = text(exception.message).gsub(/\e\[[\d;]*m/, '').split(/^Diff:/, 2)
    # `eq` and its like: the values have fields of their own.
    expected, actual, rest = message.match(/\A\s*expected: (.*?)\n\s*got: (.*?)(\n\n\(compared .*)?\n*\z/m)&.captures
    message = "the values differ #{rest&.strip}" if expected
    cause = exception.cause
    name = exception.class.to_s
    {
      type: (name unless name == 'RSpec::Expectations::ExpectationNotMetError'), message: message.strip,
      diff: diff, expected: expected, actual: actual, cause: cause && "#{cause.class}: #{text(cause.message)}",
      stack: backtrace.filter_map do |frame|
        file, line, function = frame.match(/\A(.+?):(\d+)(?::in [`'](.*)')?\z/)&.captures
        { file: File.expand_path(file), line: line.to_i, function: function } if file
      end
    }
  end

  # An error outside of examples: of a file, or of a hook.
  def self.outside(exception, context)
    file = context[/while loading (.+?)\.( - Did you mean|\z)/, 1]
    error = error(exception).merge(kind: context)
    file ? write('file_end', file: File.expand_path(file), errors: [error]) : write('run_error', **error)
  end

  def initialize(_output)
    # Numbers of examples by file: to run, and run so far.
    @planned = Hash.new(0)
    @ended = Hash.new(0)
  end

  def start(_notification)
    examples = RSpec.world.filtered_examples.each_with_object(Hash.new { |all, file| all[file] = [0, 0] }) do |(group, kept), all|
      group.examples.each { |example| all[file(example)][1] += 1 }
      kept.each { |example| all[file(example)][0] += 1 }
    end
    rules = [RSpec.configuration.inclusion_filter, RSpec.configuration.exclusion_filter].map(&:rules)
    # The project's options are in files, those of the call on the command line.
    is_filtered = ARGV.any? { |word| word.start_with?('--example') }
    options = %w[include exclude].zip(rules).filter_map do |name, rule|
      own = rule.reject { |key, _| key == :full_description && is_filtered }
      "#{name} #{own.inspect}" unless own.empty?
    end
    write('excluding', options: options, is_filtered: is_filtered)
    cut = examples.select { |_, (kept, all)| kept < all }
    write('deselected', tests: cut.values.sum { |kept, all| all - kept }, files: cut.keys)
    examples.each { |file, (kept, _)| @planned[file] = kept if kept.positive? }
    write('planned', files: @planned.keys.map { |file| { file: file } })
    write('run_error', message: '`dry_run` is set: no example runs') if RSpec.configuration.dry_run?
  end

  def example_started(notification)
    file = file(notification.example)
    write('collected', file: file, tests: @planned[file]) unless @ended.key?(file)
    @ended[file] += 0
    # RSpec makes up the description of an example without one when it has run.
    write('test_start', **name(notification.example)) unless notification.example.metadata[:description].empty?
  end

  def example_finished(notification)
    example = notification.example
    result = example.execution_result
    state = { passed: 'passed', failed: 'failed' }[result.status] || pending(result)
    exceptions = result.exception.respond_to?(:all_exceptions) ? result.exception.all_exceptions : [result.exception].compact
    write(
      'test', **name(example), state: state, ms: result.run_time && result.run_time * 1000,
      line: example.metadata[:line_number], errors: exceptions.first(MAX_ERRORS).map { |one| self.class.error(one, example.metadata) }
    )
    file = file(example)
    write('file_end', file: file, tests: 1) if (@ended[file] += 1) == @planned[file]
  end

  def seed(notification)
    @seed = notification.seed if notification.seed_used?
  end

  def dump_summary(summary)
    write('unreached', files: @planned.keys - @ended.keys)
    failed = summary.failure_count + summary.errors_outside_of_examples_count
    write('end', passed: failed.zero?, seed: (@seed if failed.positive?))
  end

  private

  def write(...)
    self.class.write(...)
  end

  def pending(result)
    return 'expected_failure' if result.pending_exception

    result.pending_message == RSpec::Core::Pending::NOT_YET_IMPLEMENTED ? 'todo' : 'skipped'
  end

  # The file that runs the example: a shared example may be in another one.
  def file(example)
    File.expand_path(example.metadata[:rerun_file_path])
  end

  def name(example)
    groups = example.example_group.parent_groups.reverse
    { file: file(example), suite: groups.map { |group| self.class.text(group.description) }, name: self.class.text(example.description) }
  end
end

RSpec::Core::Reporter.prepend(Module.new do
  def notify_non_example_exception(exception, context)
    ReplayFormatter.outside(exception, context)
    super
  end
end)
ReplayFormatter.write('run_start', version: RSpec::Core::Version::STRING)
