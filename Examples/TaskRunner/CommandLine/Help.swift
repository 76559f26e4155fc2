extension Arguments {
  /// The output of `--help`.
  static let help = """
    USAGE: taskrunner [OPTION]... [FILE [TASK]...]

    Runs the tasks of a JSON file (default: tasks.json), each after those that it needs, several at a time, and only those
    that are not up to date. With names of tasks, runs these and all that they need.

    THE FILE: {"tasks": [ TASK, ... ]}, each task an object with these keys. Only "name" and "command" are required.
      "name"       what other tasks and messages call the task
      "command"    a command line for /bin/sh, or a list: a program and its arguments, without a shell
      "needs"      names of tasks that finish before
      "inputs"     files and folders that the command reads; a task that makes an input is needed, too
      "outputs"    files and folders that the command makes; the folders around them are created
      "exclusive"  a name or several; tasks with a common name do not run at the same time
      "retries"    how many times a failed command is retried, after a growing pause (default: 0)
      "timeout"    the seconds that each attempt may take
      "env"        an object of variables, beside those of the runner
      "cwd"        the folder in which the command runs (default: that of the file)
    Paths begin at the folder of the file. They are bytes: \\udc80 to \\udcff in a text are the bytes 0x80 to 0xff of a name that is
    not UTF-8, as Python writes them. On the command line, ~/ is the home folder.

    UP TO DATE is a task whose last run has succeeded, if its command, variables, folder, inputs, the outputs of the tasks that it
    needs, and its own outputs are as they were then, by content. A task without inputs and outputs always runs.
    The folder .FILE.records beside the file keeps the records for this, and never counts as an input, unless other files are in it.
    Within a folder that is an input, a pipe, a socket and a device count by name and kind alone.

    OPTIONS:
      -j, --jobs N        how many tasks run at a time, 1 to 256 (default: the number of processors)
      -k, --keep-going    after a failure, run all tasks that do not need the failed one; otherwise running tasks are ended
      -v, --verbose       print the output of tasks that succeed, too; otherwise only that of tasks that fail
      -n, --dry-run       print the tasks that would run, and run nothing
          --graph         print the tasks as a Mermaid diagram, and run nothing
          --trace FILE    write a trace of the run, for ui.perfetto.dev
          --report FILE   report what took the time, and why tasks failed; a page if the name ends in .html, otherwise text;
                          - is standard output
      -h, --help          print this

    EXIT STATUS: 0 when all tasks succeeded; of the first task that failed: its status, 128 and the number of the signal that ended
    it, 124 after a timeout, 126 and 127 for a program that cannot be started, 1 for other reasons; 2 for a bad file or
    command line; 130 after Ctrl-C, which ends all commands and what they have started: first by SIGTERM, and after five
    seconds or a second Ctrl-C by SIGKILL. A taskrunner within a command gives its own commands three quarters of that time.
    Commands have no terminal: a program that asks for an answer at /dev/tty, as sudo and ssh do, fails immediately.
    """
}
