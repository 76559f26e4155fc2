extension Arguments {
  /// The text that `--help` prints.
  static let help = """
    USAGE: taskrunner [OPTION]... [FILE [TASK]...]

    Runs the tasks in a JSON file (default: tasks.json). Each task runs after the tasks that it needs. Several tasks run at a
    time, and tasks that are up to date are skipped. If TASKs are named, only those tasks and the tasks that they need run.

    THE FILE: {"tasks": [ TASK, ... ]}. Each task is an object with these keys; only "name" and "command" are required.
      "name"       the name of the task, used by other tasks and in messages
      "command"    a command line for /bin/sh, or a list with a program and its arguments, which is executed without a shell
      "needs"      the names of tasks that must finish first
      "inputs"     the files and folders that the command reads; a task that creates an input is needed, too
      "outputs"    the files and folders that the command creates; their parent folders are created if necessary
      "exclusive"  a name or a list of names; tasks that have a name in common do not run at the same time
      "retries"    how many times a failed command is retried, after increasingly long pauses (default: 0)
      "timeout"    the time limit for each attempt, in seconds
      "env"        an object with environment variables, in addition to those of taskrunner
      "cwd"        the folder in which the command runs (default: the folder that contains the file)
    Paths are relative to the folder that contains the file. They consist of bytes: \\udc80 to \\udcff in a string are the bytes 0x80 to 0xff
    of a name that is not UTF-8, as written by Python. On the command line, ~/ is the home folder.

    A task is UP TO DATE if its last run succeeded, and its command, variables, folder, inputs and outputs, and the outputs of
    the tasks that it needs, have the same contents as they had then. A task with neither inputs nor outputs always runs.
    If more tasks can run than there are jobs, the tasks on the path that took the most time in earlier runs run first.
    The records are kept in the folder .FILE.records next to the file. This folder is not treated as an input unless it contains
    other files. If a folder is an input, only the names and kinds of the pipes, sockets and devices in it are compared.

    OPTIONS:
      -j, --jobs N        how many tasks run at a time, 1 to 256 (default: the number of processors)
      -k, --keep-going    if a task fails, continue with tasks that do not depend on it, instead of ending all tasks
      -v, --verbose       print the output of all tasks, rather than only that of tasks that fail
      -n, --dry-run       print the tasks that would be run, without running them
          --graph         print the tasks as a Mermaid diagram, without running them
          --trace FILE    write a trace of the run, for ui.perfetto.dev
          --report FILE   report which tasks took the most time, and why tasks failed; as a page if the name ends in .html,
                          otherwise as text; - is standard output
      -h, --help          print this text

    EXIT STATUS: 0 if all tasks succeeded. If a task failed, the status of the first one: that of its command; 128 plus the
    number of the signal that ended it; 124 after a timeout; 126 or 127 if a program cannot be started; 1 for other reasons.
    2 for an invalid file or command line. 130 after Ctrl-C, which ends all commands and the processes that they started,
    first with SIGTERM, and after five seconds or a second Ctrl-C, with SIGKILL. A taskrunner that runs as a command gives its own
    commands only three quarters of that time. Commands have no terminal, so programs that ask for input through /dev/tty, such as
    sudo and ssh, fail immediately.
    """
}
