# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_replay_global_optspecs
    string join \n mcp-server allow= allow-read= allow-write= sandbox-profile= protect= sandbox= tools= errors= command-timeout-secs= max-command-timeout-secs= output-cap-bytes= max-line-bytes= log-level= h/help V/version
end

function __fish_replay_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_replay_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_replay_using_subcommand
    set -l cmd (__fish_replay_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c replay -n "__fish_replay_needs_command" -l allow -d 'Allow a directory: read-only, or with a final `:rw` also for writing. Repeatable; relative paths of calls are taken below the first one' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_needs_command" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_needs_command" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_needs_command" -l sandbox-profile -d 'Take more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_needs_command" -l protect -d 'Keep a path below an allowed directory read-only for the file tools, whether it exists yet or not; some paths that programs trust, such as .git/hooks, always are' -r -F
complete -c replay -n "__fish_replay_needs_command" -l sandbox -d 'The kernel wall around commands. `require` refuses commands for as long as there is none; `off` runs them without one' -r -f -a "require\t'No wall, no command'
off\t'Run commands without a wall'"
complete -c replay -n "__fish_replay_needs_command" -l tools -d 'Which sets of tools to serve' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
all\t'Every set'"
complete -c replay -n "__fish_replay_needs_command" -l errors -d 'How failures of tools reach clients of handshake revisions: as JSON-RPC errors with codes, or as results with isError, for clients that hide protocol errors from their model' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_needs_command" -l command-timeout-secs -d 'Time limit of a command that asks for none, in seconds' -r
complete -c replay -n "__fish_replay_needs_command" -l max-command-timeout-secs -d 'Largest time limit that a command may ask for, in seconds' -r
complete -c replay -n "__fish_replay_needs_command" -l output-cap-bytes -d 'Output kept of a command, in bytes for each of its two streams' -r
complete -c replay -n "__fish_replay_needs_command" -l max-line-bytes -d 'Longest message accepted on stdin, in bytes' -r
complete -c replay -n "__fish_replay_needs_command" -l log-level -d 'Least severity of the log on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'The start-up line'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_needs_command" -l mcp-server -d 'Serve the Model Context Protocol on stdin and stdout'
complete -c replay -n "__fish_replay_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_needs_command" -s V -l version -d 'Print version'
complete -c replay -n "__fish_replay_needs_command" -f -a "call" -d 'Run one tool and print what it answers; the exit status is 1 when the tool failed'
complete -c replay -n "__fish_replay_needs_command" -f -a "tools" -d 'List the tools'
complete -c replay -n "__fish_replay_needs_command" -f -a "generate" -d 'Print a document that is derived from the declarations'
complete -c replay -n "__fish_replay_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c replay -n "__fish_replay_using_subcommand call" -l allow -d 'Allow a directory: read-only, or with a final `:rw` also for writing. Repeatable; relative paths of calls are taken below the first one' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand call" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand call" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand call" -l sandbox-profile -d 'Take more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand call" -l protect -d 'Keep a path below an allowed directory read-only for the file tools, whether it exists yet or not; some paths that programs trust, such as .git/hooks, always are' -r -F
complete -c replay -n "__fish_replay_using_subcommand call" -l sandbox -d 'The kernel wall around commands. `require` refuses commands for as long as there is none; `off` runs them without one' -r -f -a "require\t'No wall, no command'
off\t'Run commands without a wall'"
complete -c replay -n "__fish_replay_using_subcommand call" -l tools -d 'Which sets of tools to serve' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand call" -l errors -d 'How failures of tools reach clients of handshake revisions: as JSON-RPC errors with codes, or as results with isError, for clients that hide protocol errors from their model' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand call" -l command-timeout-secs -d 'Time limit of a command that asks for none, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l max-command-timeout-secs -d 'Largest time limit that a command may ask for, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l output-cap-bytes -d 'Output kept of a command, in bytes for each of its two streams' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l max-line-bytes -d 'Longest message accepted on stdin, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l log-level -d 'Least severity of the log on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'The start-up line'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand call" -l json -d 'Print the whole result as JSON instead of its text'
complete -c replay -n "__fish_replay_using_subcommand call" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand tools" -l allow -d 'Allow a directory: read-only, or with a final `:rw` also for writing. Repeatable; relative paths of calls are taken below the first one' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand tools" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand tools" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand tools" -l sandbox-profile -d 'Take more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand tools" -l protect -d 'Keep a path below an allowed directory read-only for the file tools, whether it exists yet or not; some paths that programs trust, such as .git/hooks, always are' -r -F
complete -c replay -n "__fish_replay_using_subcommand tools" -l sandbox -d 'The kernel wall around commands. `require` refuses commands for as long as there is none; `off` runs them without one' -r -f -a "require\t'No wall, no command'
off\t'Run commands without a wall'"
complete -c replay -n "__fish_replay_using_subcommand tools" -l tools -d 'Which sets of tools to serve' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand tools" -l errors -d 'How failures of tools reach clients of handshake revisions: as JSON-RPC errors with codes, or as results with isError, for clients that hide protocol errors from their model' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand tools" -l command-timeout-secs -d 'Time limit of a command that asks for none, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l max-command-timeout-secs -d 'Largest time limit that a command may ask for, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l output-cap-bytes -d 'Output kept of a command, in bytes for each of its two streams' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l max-line-bytes -d 'Longest message accepted on stdin, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l log-level -d 'Least severity of the log on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'The start-up line'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand tools" -l json -d 'Print the list as clients get it, schemas included'
complete -c replay -n "__fish_replay_using_subcommand tools" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand generate" -l allow -d 'Allow a directory: read-only, or with a final `:rw` also for writing. Repeatable; relative paths of calls are taken below the first one' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand generate" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand generate" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand generate" -l sandbox-profile -d 'Take more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand generate" -l protect -d 'Keep a path below an allowed directory read-only for the file tools, whether it exists yet or not; some paths that programs trust, such as .git/hooks, always are' -r -F
complete -c replay -n "__fish_replay_using_subcommand generate" -l sandbox -d 'The kernel wall around commands. `require` refuses commands for as long as there is none; `off` runs them without one' -r -f -a "require\t'No wall, no command'
off\t'Run commands without a wall'"
complete -c replay -n "__fish_replay_using_subcommand generate" -l tools -d 'Which sets of tools to serve' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand generate" -l errors -d 'How failures of tools reach clients of handshake revisions: as JSON-RPC errors with codes, or as results with isError, for clients that hide protocol errors from their model' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand generate" -l command-timeout-secs -d 'Time limit of a command that asks for none, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l max-command-timeout-secs -d 'Largest time limit that a command may ask for, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l output-cap-bytes -d 'Output kept of a command, in bytes for each of its two streams' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l max-line-bytes -d 'Longest message accepted on stdin, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l log-level -d 'Least severity of the log on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'The start-up line'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand generate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand help; and not __fish_seen_subcommand_from call tools generate help" -f -a "call" -d 'Run one tool and print what it answers; the exit status is 1 when the tool failed'
complete -c replay -n "__fish_replay_using_subcommand help; and not __fish_seen_subcommand_from call tools generate help" -f -a "tools" -d 'List the tools'
complete -c replay -n "__fish_replay_using_subcommand help; and not __fish_seen_subcommand_from call tools generate help" -f -a "generate" -d 'Print a document that is derived from the declarations'
complete -c replay -n "__fish_replay_using_subcommand help; and not __fish_seen_subcommand_from call tools generate help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
