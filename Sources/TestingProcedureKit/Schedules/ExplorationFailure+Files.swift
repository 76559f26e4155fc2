extension ExplorationFailure {
  /// The failure as JSON: an object with `seed`, `schedule`, `strategy`, `problems`, `replay`, `failsAgain`, `switches`,
  /// `order`, `notes`, and `trace` (see `ScheduleTrace.json`).
  public var json: String {
    let quoted = ScheduleTrace.quoted
    let members = [
      #""seed":\#(seed)"#, #""schedule":\#(schedule)"#, #""strategy":\#(quoted("\(strategy)"))"#,
      #""problems":[\#(problems.map { quoted("\($0)") }.joined(separator: ","))]"#,
      #""replay":\#(quoted(replay))"#, #""failsAgain":\#(failsAgain.map { "\($0)" } ?? "null")"#,
      #""switches":\#(deviations.reported)"#, #""order":[\#(order.map(String.init).joined(separator: ","))]"#,
      #""notes":[\#(notes.map(quoted).joined(separator: ","))]"#, #""trace":\#(trace?.json ?? "null")"#,
    ]
    return "{\(members.joined(separator: ","))}"
  }

  /// Writes two files to the directory of the environment variable `PROCEDUREKIT_TRACES`: the failure as JSON, and the
  /// trace for Perfetto. Without the variable, and where the system refuses the files, nothing is written.
  mutating func writeFiles() {
    guard let directory = TestProcess.environment["PROCEDUREKIT_TRACES"], !directory.isEmpty else { return }
    writeFiles(to: directory)
  }

  mutating func writeFiles(to directory: String) {
    let name = "\(directory)/exploration-\(seed)-\(schedule)-\(ReplayCode.digest(of: replay))"
    var texts = [("\(name).json", json)]
    if let trace { texts.append(("\(name).perfetto.json", trace.perfetto)) }
    files = texts.filter { (try? TestProcess.write($0.1, toFile: $0.0)) != nil }.map(\.0)
  }
}
