import Testing

@testable import Benchmark

@Suite struct ArgumentsTests {
  @Test("Without arguments, everything is measured nine times")
  func defaults() throws {
    #expect(try Arguments(parsing: []) == Arguments())
    #expect(Arguments().samples == 9)
    #expect(Arguments().names.isEmpty)
  }

  @Test("Names and options are accepted in any order, and names in any case")
  func everything() throws {
    let arguments = try Arguments(
      parsing: ["w1", "--json", "P3", "--samples", "21", "--check", "--units", "500", "--long", "w2/8"])
    var expected = Arguments()
    expected.names = ["W1", "P3", "W2/8"]
    expected.samples = 21
    expected.units = 500
    expected.printsJSON = true
    expected.checks = true
    expected.includesLong = true
    #expect(arguments == expected)
  }

  @Test("Instructions are counted on request")
  func instructions() throws {
    #expect(try Arguments(parsing: ["--instructions"]).action == .countInstructions)
  }

  @Test("The program starts itself to execute a contestant, and to act as a server")
  func startsItself() throws {
    let execution = Execution(workload: "W1", contestant: "add, observed", units: 7, times: 2)
    #expect(try Arguments(parsing: execution.arguments).action == .execute(execution))
    #expect(try Arguments(parsing: ["--serve"]).action == .serve)
  }

  @Test("A check measures at least nine times", arguments: [("3", 9), ("21", 21)])
  func check(_ samples: String, _ count: Int) throws {
    #expect(try Arguments(parsing: ["--check", "--samples", samples]).samples == count)
  }

  @Test("Help takes precedence over other arguments, and lists every workload and target")
  func help() throws {
    #expect(try Arguments(parsing: ["--help", "--nonsense"]).action == .printHelp)
    for name in Selection.names { #expect(Arguments.help.contains("  \(name) "), "\(name)") }
  }

  @Test(
    "An unknown argument is an error that names it",
    arguments: [
      (["W99"], UsageError.unknownName("W99")), (["--fast"], .unknownOption("--fast")),
      (["--samples"], .missingValue(option: "--samples")),
      (["--samples", "0"], .badNumber(option: "--samples", given: "0")),
      (["--units", "many"], .badNumber(option: "--units", given: "many")),
      (["--execute", "W1", "run", "0", "1"], .badNumber(option: "--execute", given: "0")),
      (["--execute", "W1"], .missingValue(option: "--execute")),
    ])
  func errors(_ commandLine: [String], _ error: UsageError) {
    #expect(throws: error) { try Arguments(parsing: commandLine) }
  }
}
