import Foundation
import ProcedureKit
import Testing

@testable import taskrunner

@Suite struct ArgumentsTests {
  @Test("Options and positional arguments are accepted in any order")
  func reading() throws {
    let arguments = try Arguments(parsing: ["-j", "3", "f", "--keep-going", "a", "--trace=t", "--report", "-", "b"])
    #expect(arguments.jobs == 3 && arguments.keepsGoing && arguments.trace == "t" && arguments.report == "-")
    #expect(arguments.file == "f" && arguments.names == ["a", "b"] && arguments.action == .run)
    #expect(try Arguments(parsing: ["-j8"]).jobs == 8 && Arguments(parsing: ["--jobs=8"]).jobs == 8)
    #expect(
      try Arguments(parsing: ["-n"]).action == .printPlan && Arguments(parsing: ["--graph"]).action == .printGraph)
    #expect(
      try Arguments(parsing: ["-v"]).isVerbose && Arguments(parsing: ["--verbose"]).isVerbose && !arguments.isVerbose)
    #expect(try Arguments(parsing: ["--", "-f"]).file == "-f" && Arguments(parsing: []).file == "tasks.json")
  }

  @Test("A path that begins with ~/ is in the home folder, however the option is written")
  func home() throws {
    let home = String(cString: getenv("HOME"))
    for line: [SystemText] in [
      ["~/tasks.json", "--trace=~/t", "--report=~/r"], ["--trace", "~/t", "--report", "~/r", "~/tasks.json", "~/a"],
    ] {
      let arguments = try Arguments(parsing: line)
      #expect(
        arguments.file == "\(home)/tasks.json" && arguments.trace == "\(home)/t" && arguments.report == "\(home)/r")
      // The name of a task is not a path.
      #expect(arguments.names.isEmpty || arguments.names == ["~/a"])
    }
  }

  @Test(
    "An invalid command line is an error",
    arguments: [
      ["-j"], ["-j", "0"], ["-jx"], ["--jobs=257"], ["--frob"], ["-k=1"], ["--trace"], ["--report="], ["--graph=x"],
    ])
  func refused(_ arguments: [SystemText]) {
    #expect(throws: UsageError.self) { try Arguments(parsing: arguments) }
  }
}
