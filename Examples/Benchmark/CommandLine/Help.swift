extension Arguments {
  /// The output of `--help`.
  static let help = """
    USAGE: Benchmark [OPTION]... [WORKLOAD|TARGET]...

    Measures what a procedure costs, compared with hand-written code (the floor), Foundation's OperationQueue
    and Dispatch, in turn in every round, each in a process of its own. Prints medians, half the distance between the
    quartiles in percent, and ratios, which are the medians of the ratios of the rounds. Build it for release:
    swift run -c release Benchmark.

    BARE is a hand-written mechanism, or a program, that does only that work.

    N1 and N2 load from nginx if it is installed, and otherwise from this program, in another process. The environment
    variable BENCHMARK_SERVER names another server: http://127.0.0.1:8080. It must answer /1 to /10000 with the
    \(HTTPServer.body.utf8.count) bytes '\(HTTPServer.body)', and /long/1024 with 1,024 MiB.

    WORKLOADS AND TARGETS; without any, all are measured. A target measures only what it compares:
    \(lines(Workload.all.filter { !$0.isLong }.map { ($0.id, $0.title(units: $0.units)) }))
    \(lines(Target.all.map { ($0.id, $0.description) }))

    OPTIONS:
      --samples N   how many times each is measured (default: 9; at least 9 with --check)
      --units N     how many units of work, instead of each workload's own number
      --long        also P9, which is otherwise measured only if named
      --json        print all measurements as JSON
      --check       fail if a target is MISSED; its workload is first measured again, up to twice, and
                    the target judged by all measurements
      --instructions
                    count the instructions of some of ProcedureKit's ways instead, with valgrind
      -h, --help    print this

    EXIT STATUS: 0; 1 when a target is MISSED and --check was given, or when a contestant had a wrong result; 2 when
    the arguments are wrong.
    """

  private static func lines(_ entries: [(id: String, text: String)]) -> String {
    entries.map { "  " + $0.id.padding(5) + $0.text }.joined(separator: "\n")
  }
}
