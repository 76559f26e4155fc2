import ProcedureKit
import Testing

@testable import kitten

@Suite struct ArgumentsTests {
  @Test("Without arguments, the photograph is resized to three sizes, with one concurrent step per processor")
  func defaults() throws {
    let arguments = try Arguments(parsing: [])
    #expect(arguments.action == .makeThumbnails)
    #expect(arguments.inputs == [])
    #expect(arguments.sizes == [64, 128, 256])
    #expect(arguments.jobs >= 1)
  }

  @Test("Options are accepted anywhere, with their value in the same argument or the next, and the last one counts")
  func options() throws {
    let arguments = try Arguments(parsing: [
      "a.ppm", "--sizes", "10,20,10", "--jobs=3", "b", "--output", "x/y", "--sizes=5", "--graph", "-", "--", "--c",
    ])
    #expect(arguments.inputs == ["a.ppm", "b", "-", "--c"])
    #expect(arguments.sizes == [5])
    #expect(arguments.jobs == 3)
    #expect(arguments.output == "x/y")
    #expect(arguments.action == .printGraph)
    #expect(try Arguments(parsing: ["--sizes", "10,20,10"]).sizes == [10, 20])
    #expect(try Arguments(parsing: ["--output", "--jobs"]).output == "--jobs")
  }

  @Test("Help is shown, regardless of the arguments that follow", arguments: ["--help", "-h"])
  func help(option: SystemText) throws {
    #expect(try Arguments(parsing: [option, "--nonsense"]).action == .printHelp)
    #expect(["--sizes", "--output", "--jobs", "--graph", "--help"].allSatisfy { Arguments.help.contains($0) })
  }

  @Test(
    "Sizes and jobs are whole numbers in their range",
    arguments: [
      ("--sizes", "0"), ("--sizes", "-1"), ("--sizes", "8193"), ("--sizes", "64,x"), ("--sizes", "64,"),
      ("--sizes", "1.5"), ("--sizes", "99999999999999999999"), ("--sizes", " 64"), ("--jobs", "0"), ("--jobs", "257"),
      ("--jobs", "many"),
    ])
  func badNumbers(option: String, value: String) throws {
    let error = try #require(throws: UsageError.self) {
      try Arguments(parsing: [SystemText(option), SystemText(value)])
    }
    let bad = value.split(separator: ",", omittingEmptySubsequences: false).last.map(String.init) ?? ""
    #expect(error == .badNumber(option: option, given: bad, range: option == "--jobs" ? 1...256 : 1...8192))
    #expect("\(error)".contains("'\(bad)'"))
  }

  @Test("Options that do not exist, lack a value or have an unexpected value are refused")
  func refused() {
    #expect(throws: UsageError.unknownOption("--size")) { try Arguments(parsing: ["--size", "3"]) }
    #expect(throws: UsageError.unknownOption("-x")) { try Arguments(parsing: ["-x"]) }
    #expect(throws: UsageError.missingValue(option: "--output")) { try Arguments(parsing: ["--output"]) }
    #expect(throws: UsageError.missingValue(option: "--output")) { try Arguments(parsing: ["--output="]) }
    #expect(throws: UsageError.unexpectedValue(option: "--graph")) { try Arguments(parsing: ["--graph=1"]) }
    #expect(throws: UsageError.emptyInput) { try Arguments(parsing: [""]) }
  }
}
