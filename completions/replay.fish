# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_replay_global_optspecs
    string join \n mcp-server mock= record= allow= allow-read= allow-write= sandbox-profile= protect= unprotect= freeze-sinks hide= git= ssh-sign allow-socket= sandbox= network= allow-network allow-net= deny-net= credential= for= net= net-log= isolation= shell= env= home= cache= cache-mib= git-identity= system= no-toolchains no-toolchain-caches limit-processes= limit-file-bytes= limit-cpu-secs= limit-memory-bytes= limit-open-files= command-timeout-secs= max-command-timeout-secs= output-cap-bytes= max-commands= max-background-commands= background-output-bytes= undo= undo-mib= undo-days= undo-full= undo-skip= max-python-sessions= max-cell-secs= python-idle-timeout-secs= no-python-spare tools= errors= reply-tokens= no-fsync memory-mib= search-memory-mib= no-search-cache max-line-bytes= stall-timeout-secs= log-level= http= stdio token-file= tls-cert= tls-key= allow-origin= allow-host= max-connections= client-timeout-secs= max-sessions= session-idle-secs= rate-limit= rate-burst= max-calls= audit= audit-key= audit-previous= otlp-endpoint= h/help V/version
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

complete -c replay -n "__fish_replay_needs_command" -l mock -d 'Serve the tools of this manifest of `replay mock`, too' -r -F
complete -c replay -n "__fish_replay_needs_command" -l record -d 'Record the session for `replay mock --cassette`' -r -F
complete -c replay -n "__fish_replay_needs_command" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_needs_command" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_needs_command" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_needs_command" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_needs_command" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_needs_command" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_needs_command" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_needs_command" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_needs_command" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_needs_command" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_needs_command" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_needs_command" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_needs_command" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_needs_command" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_needs_command" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_needs_command" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_needs_command" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_needs_command" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_needs_command" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_needs_command" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_needs_command" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_needs_command" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_needs_command" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_needs_command" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_needs_command" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_needs_command" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_needs_command" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_needs_command" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_needs_command" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_needs_command" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_needs_command" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_needs_command" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_needs_command" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_needs_command" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_needs_command" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_needs_command" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_needs_command" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_needs_command" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_needs_command" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_needs_command" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_needs_command" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_needs_command" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_needs_command" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_needs_command" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_needs_command" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_needs_command" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_needs_command" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_needs_command" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_needs_command" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_needs_command" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_needs_command" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_needs_command" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_needs_command" -l http -d 'Serve over HTTP at this address instead of stdin and stdout' -r
complete -c replay -n "__fish_replay_needs_command" -l token-file -d 'Answer only clients with a token of this file, which `replay token` writes' -r -F
complete -c replay -n "__fish_replay_needs_command" -l tls-cert -d 'Speak TLS with this certificate' -r -F
complete -c replay -n "__fish_replay_needs_command" -l tls-key -d 'The key of the certificate, as PEM' -r -F
complete -c replay -n "__fish_replay_needs_command" -l allow-origin -d 'Answer pages of this origin, such as `https://app.example`' -r
complete -c replay -n "__fish_replay_needs_command" -l allow-host -d 'Answer requests for this host name, beside those of loopback' -r
complete -c replay -n "__fish_replay_needs_command" -l max-connections -d 'Limit the connections' -r
complete -c replay -n "__fish_replay_needs_command" -l client-timeout-secs -d 'Hang up on a client that sends and takes nothing for so many seconds' -r
complete -c replay -n "__fish_replay_needs_command" -l max-sessions -d 'Limit the sessions of each token' -r
complete -c replay -n "__fish_replay_needs_command" -l session-idle-secs -d 'End a session that nobody uses for so many seconds' -r
complete -c replay -n "__fish_replay_needs_command" -l rate-limit -d 'Limit the messages of each token in a minute; 0 sets no limit' -r
complete -c replay -n "__fish_replay_needs_command" -l rate-burst -d 'Let a token that was silent send so many messages at once' -r
complete -c replay -n "__fish_replay_needs_command" -l max-calls -d 'Run so many calls of each token at the same time; some more wait' -r
complete -c replay -n "__fish_replay_needs_command" -l audit -d 'Log each call in this file before the call is answered' -r -F
complete -c replay -n "__fish_replay_needs_command" -l audit-key -d 'Chain the lines with HMAC-SHA256 and the key in this file' -r -F
complete -c replay -n "__fish_replay_needs_command" -l audit-previous -d 'Continue the chain of this file if --audit is a new file, as after a rotation' -r -F
complete -c replay -n "__fish_replay_needs_command" -l otlp-endpoint -d 'Export a span of each request to the OpenTelemetry collector at this URL' -r -f
complete -c replay -n "__fish_replay_needs_command" -l mcp-server -d 'Serve the tools: on stdin and stdout, or with --http over HTTP'
complete -c replay -n "__fish_replay_needs_command" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_needs_command" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_needs_command" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_needs_command" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_needs_command" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_needs_command" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_needs_command" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_needs_command" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_needs_command" -l stdio -d 'Serve stdin and stdout as well'
complete -c replay -n "__fish_replay_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_needs_command" -s V -l version -d 'Print version'
complete -c replay -n "__fish_replay_needs_command" -f -a "setup" -d 'Print the configuration that makes an MCP client start this server, or write it (--write)'
complete -c replay -n "__fish_replay_needs_command" -f -a "doctor" -d 'Tell what this machine can do for a server, and what to run where something is missing'
complete -c replay -n "__fish_replay_needs_command" -f -a "call" -d 'Run one tool and print its answer; the exit status is 1 if the tool failed'
complete -c replay -n "__fish_replay_needs_command" -f -a "tools" -d 'List the tools'
complete -c replay -n "__fish_replay_needs_command" -f -a "bench" -d 'Compare the speed of the tools with rg, grep, fd and find on your own tree'
complete -c replay -n "__fish_replay_needs_command" -f -a "mock" -d 'Serve an MCP server that exists only in a manifest, until stdin closes'
complete -c replay -n "__fish_replay_needs_command" -f -a "calls" -d 'Record what a program calls over the network, and replay the answers'
complete -c replay -n "__fish_replay_needs_command" -f -a "sandbox" -d 'Explain the walls around commands, attack them, or run a program inside'
complete -c replay -n "__fish_replay_needs_command" -f -a "why" -d 'Ask which rule decides about a path, a connection or a program; the exit status is 1 for a denial'
complete -c replay -n "__fish_replay_needs_command" -f -a "net" -d 'Find the rules about the network (--allow-net) that a program needs, or list the sets that they can name'
complete -c replay -n "__fish_replay_needs_command" -f -a "token" -d 'Make, list, replace and revoke tokens of a server over HTTP'
complete -c replay -n "__fish_replay_needs_command" -f -a "changes" -d 'List, show and undo what agents\' calls changed in the files of a directory'
complete -c replay -n "__fish_replay_needs_command" -f -a "audit" -d 'Check or show an audit log (--audit)'
complete -c replay -n "__fish_replay_needs_command" -f -a "health" -d 'Ask a server over HTTP whether it is healthy; the exit status is 1 if it is not'
complete -c replay -n "__fish_replay_needs_command" -f -a "generate" -d 'Print a document that is derived from the declarations'
complete -c replay -n "__fish_replay_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c replay -n "__fish_replay_using_subcommand setup" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand setup" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand setup" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand setup" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand setup" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand setup" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand setup" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand setup" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand setup" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand setup" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand setup" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand setup" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand setup" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand setup" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand setup" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand setup" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand setup" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand setup" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand setup" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand setup" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand setup" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand setup" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand setup" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand setup" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand setup" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand setup" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand setup" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand setup" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand setup" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand setup" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand setup" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand setup" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand setup" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand setup" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand setup" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand setup" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand setup" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand setup" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand setup" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand setup" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand setup" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand setup" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand setup" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand setup" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand setup" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand setup" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand setup" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand setup" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand setup" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand setup" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand setup" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand setup" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand setup" -l write -d 'Write the entry to the client\'s file, and keep what else that holds'
complete -c replay -n "__fish_replay_using_subcommand setup" -l force -d 'Change an entry that is there already and says something else'
complete -c replay -n "__fish_replay_using_subcommand setup" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand setup" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand setup" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand setup" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand setup" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand setup" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand setup" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand setup" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand setup" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand doctor" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand doctor" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand doctor" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand doctor" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand doctor" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand doctor" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand doctor" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand doctor" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand doctor" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand doctor" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand doctor" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand doctor" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand doctor" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand doctor" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand doctor" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand doctor" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand doctor" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand doctor" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand doctor" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand doctor" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand doctor" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand doctor" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand doctor" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand doctor" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand doctor" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand doctor" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand doctor" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand doctor" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand doctor" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand doctor" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand doctor" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand doctor" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand doctor" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand doctor" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand doctor" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand doctor" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand doctor" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand doctor" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand doctor" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand doctor" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand doctor" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand doctor" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand doctor" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand doctor" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand doctor" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand doctor" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand doctor" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand doctor" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand doctor" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand doctor" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand doctor" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand doctor" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand doctor" -l json -d 'Print it as JSON'
complete -c replay -n "__fish_replay_using_subcommand doctor" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand doctor" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand doctor" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand doctor" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand doctor" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand doctor" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand doctor" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand doctor" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand call" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand call" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand call" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand call" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand call" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand call" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand call" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand call" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand call" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand call" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand call" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand call" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand call" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand call" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand call" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand call" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand call" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand call" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand call" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand call" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand call" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand call" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand call" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand call" -l json -d 'Print the whole result as JSON instead of its text'
complete -c replay -n "__fish_replay_using_subcommand call" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand call" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand call" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand call" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand call" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand call" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand call" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand call" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand call" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand tools" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand tools" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand tools" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand tools" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand tools" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand tools" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand tools" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand tools" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand tools" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand tools" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand tools" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand tools" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand tools" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand tools" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand tools" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand tools" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand tools" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand tools" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand tools" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand tools" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand tools" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand tools" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand tools" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand tools" -l json -d 'Print the list as clients get it, with schemas'
complete -c replay -n "__fish_replay_using_subcommand tools" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand tools" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand tools" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand tools" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand tools" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand tools" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand tools" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand tools" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand tools" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand bench" -l tree -d 'The directory to search; nothing is written to it' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand bench" -l pattern -d 'The pattern to search for; take one that means the same to all programs' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l rounds -d 'Rounds, after one to warm up' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand bench" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand bench" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand bench" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand bench" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand bench" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand bench" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand bench" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand bench" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand bench" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand bench" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand bench" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand bench" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand bench" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand bench" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand bench" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand bench" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand bench" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand bench" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand bench" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand bench" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand bench" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand bench" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand bench" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand bench" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand bench" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand bench" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand bench" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand bench" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand bench" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand bench" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand bench" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l tools-from -d 'Serve this manifest: YAML, or the answer to tools/list as JSON (.json)' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l preset -d 'Serve a built-in manifest; `replay mock presets` lists them' -r -f -a "evil\t''
rugpull\t''
flood\t''
unicode\t''
slowloris\t''
badjson\t''
wrong-id\t''
stdout-noise\t''"
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l cassette -d 'Serve a recording of `replay mock record` or `replay --mcp-server --record`' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l on-miss -d 'What to do with a request that the cassette does not have' -r -f -a "fail\t'Fail it, and say so'
passthrough\t'Ask the real server'
record\t'Ask the real server, and keep the answer'"
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l target -d 'The command of the server behind the cassette, for /bin/sh' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l redact-env -d 'Leave out the value of this variable wherever it stands' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l redact -d 'Write `[NAME]` instead of what a pattern matches; repeatable' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l journal -d 'Write every message and its answer to this file, as lines of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l expect -d 'Check what the client does against this file' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l report -d 'Write the report of --expect to this file, too' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l fault -d 'Make every tools/call go wrong in this way; `replay mock presets --faults` lists the ways' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l http -d 'Serve over HTTP at this loopback address instead of stdin and stdout' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l debug -d 'The same as --log-level trace'
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l verbose -d 'The same as --log-level debug'
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -f -a "check" -d 'Say what is wrong with a manifest, with line and column; the exit status is 1 if something is'
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -f -a "init" -d 'Write a commented manifest to start from'
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -f -a "presets" -d 'List the built-in servers and the attack that each models'
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -f -a "schema" -d 'Print the JSON schema of manifests, for editors'
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -f -a "record" -d 'Stand between a client and a real server and record what they say'
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -f -a "distill" -d 'Print a manifest that answers as a cassette does, for you to edit'
complete -c replay -n "__fish_replay_using_subcommand mock; and not __fish_seen_subcommand_from check init presets schema record distill help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from init" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l faults -d 'Say what each --fault does'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from presets" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from schema" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l target -d 'The command of the server, for /bin/sh' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -s o -l output -d 'The cassette; an existing one is replaced' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l redact-env -d 'Leave out the value of this variable wherever it stands' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l redact -d 'Write `[NAME]` instead of what a pattern matches; repeatable' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from record" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from distill" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from help" -f -a "check" -d 'Say what is wrong with a manifest, with line and column; the exit status is 1 if something is'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from help" -f -a "init" -d 'Write a commented manifest to start from'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from help" -f -a "presets" -d 'List the built-in servers and the attack that each models'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from help" -f -a "schema" -d 'Print the JSON schema of manifests, for editors'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from help" -f -a "record" -d 'Stand between a client and a real server and record what they say'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from help" -f -a "distill" -d 'Print a manifest that answers as a cassette does, for you to edit'
complete -c replay -n "__fish_replay_using_subcommand mock; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -f -a "record" -d 'Run a program and keep its calls as a new mock set'
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -f -a "test" -d 'Run a program and answer its calls from a mock set'
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -f -a "list" -d 'List the mock sets, the latest first'
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -f -a "noise" -d 'Compare two recordings of the same run and show the values that differ: noise for replays'
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -f -a "show" -d 'Show the calls of a mock set: what, how often, how long'
complete -c replay -n "__fish_replay_using_subcommand calls; and not __fish_seen_subcommand_from record test list noise show help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l path -d 'The directory of the mock sets' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l timeout-secs -d 'End the program after so many seconds; what was recorded until then is kept' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l keep-secrets -d 'Keep passwords, keys and tokens, which are replaced otherwise'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from record" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l path -d 'The directory of the mock sets' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l mock -d 'The mock set [default: the latest of the same command, or else the latest]' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l on-miss -d 'What to do with a call that no recording answers' -r -f -a "fail\t'Fail it, and say so'
passthrough\t'Ask the real server'
record\t'Ask the real server, and keep the answer'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l timeout-secs -d 'End the program after so many seconds; what was recorded until then is kept' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l exact -d 'Compare values that each run makes anew, too: UUIDs, current times, random tokens'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from test" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l path -d 'The directory of the mock sets' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l path -d 'The directory of the mock sets' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l write -d 'Write the noise into both sets, so that replays of either ignore it'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from noise" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l path -d 'The directory of the mock sets' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l html -d 'Print a page for a browser, with a timeline of the calls'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from help" -f -a "record" -d 'Run a program and keep its calls as a new mock set'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from help" -f -a "test" -d 'Run a program and answer its calls from a mock set'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the mock sets, the latest first'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from help" -f -a "noise" -d 'Compare two recordings of the same run and show the values that differ: noise for replays'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show the calls of a mock set: what, how often, how long'
complete -c replay -n "__fish_replay_using_subcommand calls; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -f -a "explain" -d 'Print every rule that holds commands and its reason, limits, environment and gaps'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -f -a "probe" -d 'Attack the walls on this machine and print which held; the exit status is 1 if one did not'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -f -a "run" -d 'Run a program inside the walls, on this terminal; the exit status is the program\'s'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and not __fish_seen_subcommand_from explain probe run help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from probe" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from help" -f -a "explain" -d 'Print every rule that holds commands and its reason, limits, environment and gaps'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from help" -f -a "probe" -d 'Attack the walls on this machine and print which held; the exit status is 1 if one did not'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from help" -f -a "run" -d 'Run a program inside the walls, on this terminal; the exit status is the program\'s'
complete -c replay -n "__fish_replay_using_subcommand sandbox; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c replay -n "__fish_replay_using_subcommand why" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand why" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand why" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand why" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand why" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand why" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand why" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand why" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand why" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand why" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand why" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand why" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand why" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand why" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand why" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand why" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand why" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand why" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand why" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand why" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand why" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand why" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand why" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand why" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand why" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand why" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand why" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand why" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand why" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand why" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand why" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand why" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand why" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand why" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand why" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand why" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand why" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand why" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand why" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand why" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand why" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand why" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand why" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand why" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand why" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand why" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand why" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand why" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand why" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand why" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand why" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand why" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand why" -l json -d 'Print the answer as JSON'
complete -c replay -n "__fish_replay_using_subcommand why" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand why" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand why" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand why" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand why" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand why" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand why" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand why" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand why" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -f -a "sets" -d 'List the sets of hosts, and the rules of each'
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -f -a "learn" -d 'Run a program that reaches everything, and print the rules that it needed; the exit status is the program\'s'
complete -c replay -n "__fish_replay_using_subcommand net; and not __fish_seen_subcommand_from sets learn help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from sets" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l out -d 'Write the rules to this file instead of stdout (`-`), where what the program writes is, too' -r -F
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from learn" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from help" -f -a "sets" -d 'List the sets of hosts, and the rules of each'
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from help" -f -a "learn" -d 'Run a program that reaches everything, and print the rules that it needed; the exit status is the program\'s'
complete -c replay -n "__fish_replay_using_subcommand net; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -f -a "new" -d 'Print a new token, and the line for --token-file that holds its SHA-256'
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -f -a "list" -d 'List the tokens: whose, since when, for what'
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -f -a "revoke" -d 'Revoke a token; a running server obeys at its next SIGHUP'
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -f -a "rotate" -d 'Replace a token and print the new one; a running server obeys at its next SIGHUP'
complete -c replay -n "__fish_replay_using_subcommand token; and not __fish_seen_subcommand_from new list revoke rotate help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l file -d 'Append the line to this file and print the token alone; the file need not exist' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l own -d 'Give it a directory of its own instead of those of the server; repeatable, as --allow is' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l own-tools -d 'Give it sets of tools of its own instead of those of the server' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l rate-limit -d 'Limit its messages in a minute, instead of the server\'s --rate-limit; 0 sets no limit' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l rate-burst -d 'Let it send so many messages at once, instead of the server\'s --rate-burst' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l max-calls -d 'Run so many of its calls at the same time, instead of the server\'s --max-calls' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l max-sessions -d 'Limit its sessions, instead of the server\'s --max-sessions' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l max-connections -d 'Limit its connections, instead of three quarters of the server\'s --max-connections' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l operator -d 'Let it see what all tokens do'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from new" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l file -d 'The file of --token-file' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l file -d 'The file of --token-file' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from revoke" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l file -d 'The file of --token-file' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from rotate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from help" -f -a "new" -d 'Print a new token, and the line for --token-file that holds its SHA-256'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the tokens: whose, since when, for what'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from help" -f -a "revoke" -d 'Revoke a token; a running server obeys at its next SIGHUP'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from help" -f -a "rotate" -d 'Replace a token and print the new one; a running server obeys at its next SIGHUP'
complete -c replay -n "__fish_replay_using_subcommand token; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l dir -d 'The directory in which agents changed files, or one in it' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l store -d 'The store, where there are several for the directory: its name, or its path' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -f -a "list" -d 'List the calls, newest first: number, time, tool, what changed; this is also what no subcommand does'
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -f -a "show" -d 'Print every file that a call changed'
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -f -a "diff" -d 'Print what a call changed as a unified diff'
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -f -a "undo" -d 'Make what calls changed what it was; the exit status is 1 if nothing was undone'
complete -c replay -n "__fish_replay_using_subcommand changes; and not __fish_seen_subcommand_from list show diff undo help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l last -d 'Only the last so many' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l dir -d 'The directory in which agents changed files, or one in it' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l store -d 'The store, where there are several for the directory: its name, or its path' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l dir -d 'The directory in which agents changed files, or one in it' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l store -d 'The store, where there are several for the directory: its name, or its path' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l dir -d 'The directory in which agents changed files, or one in it' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l store -d 'The store, where there are several for the directory: its name, or its path' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from diff" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l since -d 'Undo this call and all after it' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l path -d 'Only what is at or below this path, which begins at --dir; repeatable' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l except -d 'All but what is at or below this path; repeatable' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l dir -d 'The directory in which agents changed files, or one in it' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l store -d 'The store, where there are several for the directory: its name, or its path' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l dry-run -d 'Only say what would be undone'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l force -d 'Undo in spite of what was changed since: that is taken away, and undoing the undo brings it back'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from undo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the calls, newest first: number, time, tool, what changed; this is also what no subcommand does'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from help" -f -a "show" -d 'Print every file that a call changed'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from help" -f -a "diff" -d 'Print what a call changed as a unified diff'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from help" -f -a "undo" -d 'Make what calls changed what it was; the exit status is 1 if nothing was undone'
complete -c replay -n "__fish_replay_using_subcommand changes; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -f -a "verify" -d 'Check that nobody changed, removed, added or moved a line; the exit status is 1 if somebody did'
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -f -a "show" -d 'Print the calls of a log as a table'
complete -c replay -n "__fish_replay_using_subcommand audit; and not __fish_seen_subcommand_from verify show help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l audit-key -d 'The key that the server has as --audit-key' -r -F
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l head -d 'Check that the log still holds the line with this hash, which was once the last' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l tool -d 'Only calls of this tool' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l path -d 'Only calls that touched or asked for this path, or one below it' -r -F
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l outcome -d 'Only calls that ended so' -r -f -a "ok\t''
failed\t''
denied\t''
invalid\t''
cancelled\t''
gave_up\t''
panicked\t''
silent\t''
unended\t''"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l client -d 'Only calls of this client: the name of a token, or stdio' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l since -d 'Only calls from this time on, such as 2026-07-28T12:00:00Z, or 2h for the last two hours' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l last -d 'Only the last so many' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l json -d 'Print the lines of the log as they are'
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from help" -f -a "verify" -d 'Check that nobody changed, removed, added or moved a line; the exit status is 1 if somebody did'
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from help" -f -a "show" -d 'Print the calls of a log as a table'
complete -c replay -n "__fish_replay_using_subcommand audit; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c replay -n "__fish_replay_using_subcommand health" -l cacert -d 'Trust the certificates of this PEM file instead of those of the system' -r -F
complete -c replay -n "__fish_replay_using_subcommand health" -l timeout-secs -d 'Wait so many seconds for the answer' -r
complete -c replay -n "__fish_replay_using_subcommand health" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand health" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand health" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand health" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand health" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand health" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand health" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand health" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand health" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand health" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand health" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand health" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand health" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand health" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand health" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand health" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand health" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand health" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand health" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand health" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand health" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand health" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand health" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand health" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand health" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand health" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand health" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand health" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand health" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand health" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand health" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand health" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand health" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand health" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand health" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand health" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand health" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand health" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand health" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand health" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand health" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand health" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand health" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand health" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand health" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand health" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand health" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand health" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand health" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand health" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand health" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand health" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand health" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand health" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand health" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand health" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand health" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand health" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand health" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand health" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand health" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand generate" -l allow -d 'Allow a directory: read-only, or with `:rw` at its end also for writing' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand generate" -l allow-read -d 'Allow a directory for reading; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand generate" -l allow-write -d 'Allow a directory for reading and writing; a suffix is part of its name' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand generate" -l sandbox-profile -d 'Read more directories and settings from a JSON profile' -r -F
complete -c replay -n "__fish_replay_using_subcommand generate" -l protect -d 'Keep a path below an allowed directory read-only' -r -F
complete -c replay -n "__fish_replay_using_subcommand generate" -l unprotect -d 'Let agents change a path that is read-only by default' -r -F
complete -c replay -n "__fish_replay_using_subcommand generate" -l hide -d 'Hide what matches this pattern from tools, commands and Python' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l git -d 'Choose what commands get of a git repository that an allowed directory belongs to and that lies outside [default: auto]' -r -f -a "auto\t'What git needs of it, if the repository names the directory in turn'
none\t'Nothing'"
complete -c replay -n "__fish_replay_using_subcommand generate" -l allow-socket -d 'Let commands connect to this unix socket of a program outside' -r -F
complete -c replay -n "__fish_replay_using_subcommand generate" -l sandbox -d 'Choose the kernel walls around commands [default: require]' -r -f -a "require\t'The best walls that the machine allows, or no commands'
namespaces\t'A root of its own in namespaces, or no commands'
landlock\t'Landlock on the system\'s own root, or no commands'
off\t'No walls'"
complete -c replay -n "__fish_replay_using_subcommand generate" -l network -d 'Choose the network of commands [default: loopback]' -r -f -a "none\t'No network'
loopback\t'A loopback of their own'
host\t'The system\'s network'
replay:SET\t'What a mock set of `replay calls` answers, from ./keploy or DIR/SET'"
complete -c replay -n "__fish_replay_using_subcommand generate" -l allow-net -d 'Let commands reach these hosts, and nothing else of the network' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l deny-net -d 'Keep commands from these hosts, of those that --allow-net allows' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l credential -d 'Let commands use a secret that they cannot read' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l for -d 'Name what the --credential before it is for, such as `https://api.github.com/**`' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l net -d 'Let commands reach the hosts of a set; the same as --allow-net @SET' -r -f -a "npm\t''
pypi\t''
python\t''
crates\t''
rust\t''
go\t''
debian\t''
github\t''
docker\t''"
complete -c replay -n "__fish_replay_using_subcommand generate" -l net-log -d 'Log each decision about a connection of a command in this file, as a line of JSON' -r -F
complete -c replay -n "__fish_replay_using_subcommand generate" -l isolation -d 'Choose how far a program is held whose calls are recorded or answered' -r -f -a "seccomp\t'Look at the program\'s system calls; it has the system\'s network'
strict\t'The same, in a network of its own that leads nowhere'
env\t'Only set `HTTP_PROXY` and its like; databases and direct connections are not seen'"
complete -c replay -n "__fish_replay_using_subcommand generate" -l shell -d 'Run commands in this shell [default: /bin/bash, or /bin/sh where there is none]' -r -F
complete -c replay -n "__fish_replay_using_subcommand generate" -l env -d 'Set a variable for commands, or pass one of the server\'s environment' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l home -d 'Choose HOME of commands [default: private]' -r -f -a "private\t'An empty one, which the server removes when it ends'
read-only\t'The real one; commands can read all that it holds'"
complete -c replay -n "__fish_replay_using_subcommand generate" -l cache -d 'Keep the caches of package managers in this directory when the server ends' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand generate" -l cache-mib -d 'Keep so many MiB of these caches (8192 by default); those that were not used for longest go first' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l git-identity -d 'Set author and committer of the commits that commands make, as `NAME <MAIL>`' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l system -d 'Show commands one more directory of programs, read-only' -r -f -a "(__fish_complete_directories)"
complete -c replay -n "__fish_replay_using_subcommand generate" -l limit-processes -d 'Limit the processes and threads of all commands together (4096 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l limit-file-bytes -d 'Limit the size of a file that commands write, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l limit-cpu-secs -d 'Limit the processor time of each process of a command, in seconds' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l limit-memory-bytes -d 'Limit the memory of all processes of a command together, in bytes' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l limit-open-files -d 'Limit the open files of each process of a command (16384 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l command-timeout-secs -d 'Wait so many seconds for a command that asks for no limit; after that it goes on in the background (30 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l max-command-timeout-secs -d 'Limit the time that a command may ask for, in seconds (600 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l output-cap-bytes -d 'Show so many bytes of each of a command\'s two streams (524288 by default); a log has the whole' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l max-commands -d 'Run so many commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l max-background-commands -d 'Run so many background commands at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l background-output-bytes -d 'Keep so many bytes of the output of each background command, and of a longer stream than is shown (16777216 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l undo -d 'Keep what calls change in the read-write directories, so that it can be undone [default: on]' -r -f -a "on\t'Calls can be undone'
off\t'Nothing is kept'"
complete -c replay -n "__fish_replay_using_subcommand generate" -l undo-mib -d 'Keep so many MiB at most (2048 by default); the oldest calls go first' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l undo-days -d 'Keep it for so many days (14 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l undo-full -d 'Choose what becomes of a change that cannot be kept, as on a full disk [default: refuse]' -r -f -a "refuse\t'The change is not made'
drop\t'The change is made without being kept, and the reply tells'"
complete -c replay -n "__fish_replay_using_subcommand generate" -l undo-skip -d 'Keep nothing of these files, such as target/**; replies tell' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l max-python-sessions -d 'Run so many Python sessions at the same time (16 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l max-cell-secs -d 'Limit the time that Python code may ask for, in seconds (300 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l python-idle-timeout-secs -d 'End a Python session that nobody uses for so many seconds (3600 by default); its variables are lost' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l tools -d 'Serve these sets of tools' -r -f -a "files\t'Reading, writing, searching and editing'
command\t'`execute_command`'
calls\t'Recording what programs call, and answering it'
python\t'Python sessions'
tests\t'Running tests, and checking types'
all\t'Every set'"
complete -c replay -n "__fish_replay_using_subcommand generate" -l errors -d 'Report failures of tools to older clients in this style' -r -f -a "codes\t'JSON-RPC errors'
results\t'Results with isError'"
complete -c replay -n "__fish_replay_using_subcommand generate" -l reply-tokens -d 'Cut replies longer than about so many tokens (100000 by default)' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l memory-mib -d 'Limit the memory that all calls hold together, in MiB' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l search-memory-mib -d 'Remember in so many MiB what searches learn about files' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l max-line-bytes -d 'Accept messages of at most so many bytes' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l stall-timeout-secs -d 'Give up a call that makes no step for so many seconds, as on a network filesystem that hangs' -r
complete -c replay -n "__fish_replay_using_subcommand generate" -l log-level -d 'Log what is at least this severe, on stderr' -r -f -a "off\t'Nothing'
error\t'The server\'s own faults'
warn\t'What an operator should know'
info\t'What is served'
debug\t'Every call, and cancellations'
trace\t'Everything'"
complete -c replay -n "__fish_replay_using_subcommand generate" -l freeze-sinks -d 'Keep what programs outside the walls run as it is'
complete -c replay -n "__fish_replay_using_subcommand generate" -l ssh-sign -d 'Let commands sign commits with the ssh-agent that `SSH_AUTH_SOCK` names'
complete -c replay -n "__fish_replay_using_subcommand generate" -l allow-network -d 'Give commands the system\'s network; the same as --network host'
complete -c replay -n "__fish_replay_using_subcommand generate" -l no-toolchains -d 'Hide the compilers and interpreters below the home from commands'
complete -c replay -n "__fish_replay_using_subcommand generate" -l no-toolchain-caches -d 'Hide what cargo and Go have downloaded from commands'
complete -c replay -n "__fish_replay_using_subcommand generate" -l no-python-spare -d 'Start each Python interpreter only when a session needs it'
complete -c replay -n "__fish_replay_using_subcommand generate" -l no-fsync -d 'Do not wait for the disk when a file is written'
complete -c replay -n "__fish_replay_using_subcommand generate" -l no-search-cache -d 'Keep nothing of that for later sessions'
complete -c replay -n "__fish_replay_using_subcommand generate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c replay -n "__fish_replay_using_subcommand help; and not __fish_seen_subcommand_from setup doctor call tools bench mock calls sandbox why net token changes audit health generate help" -f -a "setup" -d 'Print the configuration that makes an MCP client start this server, or write it (--write)'
complete -c replay -n "__fish_replay_using_subcommand help; and not __fish_seen_subcommand_from setup doctor call tools bench mock calls sandbox why net token changes audit health generate help" -f -a "doctor" -d 'Tell what this machine can do for a server, and what to run where something is missing'
complete -c replay -n "__fish_replay_using_subcommand help; and not __fish_seen_subcommand_from setup doctor call tools bench mock calls sandbox why net token changes audit health generate help" -f -a "call" -d 'Run one tool and print its answer; the exit status is 1 if the tool failed'
complete -c replay -n "__fish_replay_using_subcommand help; and not __fish_seen_subcommand_from setup doctor call tools bench mock calls sandbox why net token changes audit health generate help" -f -a "tools" -d 'List the tools'
complete -c replay -n "__fish_replay_using_subcommand help; and not __fish_seen_subcommand_from setup doctor call tools bench mock calls sandbox why net token changes audit health generate help" -f -a "bench" -d 'Compare the speed of the tools with rg, grep, fd and find on your own tree'
complete -c replay -n "__fish_replay_using_subcommand help; and not __fish_seen_subcommand_from setup doctor call tools bench mock calls sandbox why net token changes audit health generate help" -f -a "mock" -d 'Serve an MCP server that exists only in a manifest, until stdin closes'
complete -c replay -n "__fish_replay_using_subcommand help; and not __fish_seen_subcommand_from setup doctor call tools bench mock calls sandbox why net token changes audit health generate help" -f -a "calls" -d 'Record what a program calls over the network, and replay the answers'
complete -c replay -n "__fish_replay_using_subcommand help; and not __fish_seen_subcommand_from setup doctor call tools bench mock calls sandbox why net token changes audit health generate help" -f -a "sandbox" -d 'Explain the walls around commands, attack them, or run a program inside'
complete -c replay -n "__fish_replay_using_subcommand help; and not __fish_seen_subcommand_from setup doctor call tools bench mock calls sandbox why net token changes audit health generate help" -f -a "why" -d 'Ask which rule decides about a path, a connection or a program; the exit status is 1 for a denial'
complete -c replay -n "__fish_replay_using_subcommand help; and not __fish_seen_subcommand_from setup doctor call tools bench mock calls sandbox why net token changes audit health generate help" -f -a "net" -d 'Find the rules about the network (--allow-net) that a program needs, or list the sets that they can name'
complete -c replay -n "__fish_replay_using_subcommand help; and not __fish_seen_subcommand_from setup doctor call tools bench mock calls sandbox why net token changes audit health generate help" -f -a "token" -d 'Make, list, replace and revoke tokens of a server over HTTP'
complete -c replay -n "__fish_replay_using_subcommand help; and not __fish_seen_subcommand_from setup doctor call tools bench mock calls sandbox why net token changes audit health generate help" -f -a "changes" -d 'List, show and undo what agents\' calls changed in the files of a directory'
complete -c replay -n "__fish_replay_using_subcommand help; and not __fish_seen_subcommand_from setup doctor call tools bench mock calls sandbox why net token changes audit health generate help" -f -a "audit" -d 'Check or show an audit log (--audit)'
complete -c replay -n "__fish_replay_using_subcommand help; and not __fish_seen_subcommand_from setup doctor call tools bench mock calls sandbox why net token changes audit health generate help" -f -a "health" -d 'Ask a server over HTTP whether it is healthy; the exit status is 1 if it is not'
complete -c replay -n "__fish_replay_using_subcommand help; and not __fish_seen_subcommand_from setup doctor call tools bench mock calls sandbox why net token changes audit health generate help" -f -a "generate" -d 'Print a document that is derived from the declarations'
complete -c replay -n "__fish_replay_using_subcommand help; and not __fish_seen_subcommand_from setup doctor call tools bench mock calls sandbox why net token changes audit health generate help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c replay -n "__fish_replay_using_subcommand help; and __fish_seen_subcommand_from mock" -f -a "check" -d 'Say what is wrong with a manifest, with line and column; the exit status is 1 if something is'
complete -c replay -n "__fish_replay_using_subcommand help; and __fish_seen_subcommand_from mock" -f -a "init" -d 'Write a commented manifest to start from'
complete -c replay -n "__fish_replay_using_subcommand help; and __fish_seen_subcommand_from mock" -f -a "presets" -d 'List the built-in servers and the attack that each models'
complete -c replay -n "__fish_replay_using_subcommand help; and __fish_seen_subcommand_from mock" -f -a "schema" -d 'Print the JSON schema of manifests, for editors'
complete -c replay -n "__fish_replay_using_subcommand help; and __fish_seen_subcommand_from mock" -f -a "record" -d 'Stand between a client and a real server and record what they say'
complete -c replay -n "__fish_replay_using_subcommand help; and __fish_seen_subcommand_from mock" -f -a "distill" -d 'Print a manifest that answers as a cassette does, for you to edit'
complete -c replay -n "__fish_replay_using_subcommand help; and __fish_seen_subcommand_from calls" -f -a "record" -d 'Run a program and keep its calls as a new mock set'
complete -c replay -n "__fish_replay_using_subcommand help; and __fish_seen_subcommand_from calls" -f -a "test" -d 'Run a program and answer its calls from a mock set'
complete -c replay -n "__fish_replay_using_subcommand help; and __fish_seen_subcommand_from calls" -f -a "list" -d 'List the mock sets, the latest first'
complete -c replay -n "__fish_replay_using_subcommand help; and __fish_seen_subcommand_from calls" -f -a "noise" -d 'Compare two recordings of the same run and show the values that differ: noise for replays'
complete -c replay -n "__fish_replay_using_subcommand help; and __fish_seen_subcommand_from calls" -f -a "show" -d 'Show the calls of a mock set: what, how often, how long'
complete -c replay -n "__fish_replay_using_subcommand help; and __fish_seen_subcommand_from sandbox" -f -a "explain" -d 'Print every rule that holds commands and its reason, limits, environment and gaps'
complete -c replay -n "__fish_replay_using_subcommand help; and __fish_seen_subcommand_from sandbox" -f -a "probe" -d 'Attack the walls on this machine and print which held; the exit status is 1 if one did not'
complete -c replay -n "__fish_replay_using_subcommand help; and __fish_seen_subcommand_from sandbox" -f -a "run" -d 'Run a program inside the walls, on this terminal; the exit status is the program\'s'
complete -c replay -n "__fish_replay_using_subcommand help; and __fish_seen_subcommand_from net" -f -a "sets" -d 'List the sets of hosts, and the rules of each'
complete -c replay -n "__fish_replay_using_subcommand help; and __fish_seen_subcommand_from net" -f -a "learn" -d 'Run a program that reaches everything, and print the rules that it needed; the exit status is the program\'s'
complete -c replay -n "__fish_replay_using_subcommand help; and __fish_seen_subcommand_from token" -f -a "new" -d 'Print a new token, and the line for --token-file that holds its SHA-256'
complete -c replay -n "__fish_replay_using_subcommand help; and __fish_seen_subcommand_from token" -f -a "list" -d 'List the tokens: whose, since when, for what'
complete -c replay -n "__fish_replay_using_subcommand help; and __fish_seen_subcommand_from token" -f -a "revoke" -d 'Revoke a token; a running server obeys at its next SIGHUP'
complete -c replay -n "__fish_replay_using_subcommand help; and __fish_seen_subcommand_from token" -f -a "rotate" -d 'Replace a token and print the new one; a running server obeys at its next SIGHUP'
complete -c replay -n "__fish_replay_using_subcommand help; and __fish_seen_subcommand_from changes" -f -a "list" -d 'List the calls, newest first: number, time, tool, what changed; this is also what no subcommand does'
complete -c replay -n "__fish_replay_using_subcommand help; and __fish_seen_subcommand_from changes" -f -a "show" -d 'Print every file that a call changed'
complete -c replay -n "__fish_replay_using_subcommand help; and __fish_seen_subcommand_from changes" -f -a "diff" -d 'Print what a call changed as a unified diff'
complete -c replay -n "__fish_replay_using_subcommand help; and __fish_seen_subcommand_from changes" -f -a "undo" -d 'Make what calls changed what it was; the exit status is 1 if nothing was undone'
complete -c replay -n "__fish_replay_using_subcommand help; and __fish_seen_subcommand_from audit" -f -a "verify" -d 'Check that nobody changed, removed, added or moved a line; the exit status is 1 if somebody did'
complete -c replay -n "__fish_replay_using_subcommand help; and __fish_seen_subcommand_from audit" -f -a "show" -d 'Print the calls of a log as a table'
