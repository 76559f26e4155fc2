import Foundation
import ProcedureKit
import Synchronization
import Testing

@testable import kitten

@Suite(.timeLimit(.minutes(10))) struct KittenTests {
  @Test("Without arguments, from any directory, the photograph is resized to three pictures, and a table is printed")
  func photograph() async throws {
    let directory = try TemporaryDirectory()
    let run = try await KittenProcess([], in: directory.path)
    #expect(run.status == 0)
    #expect(run.errors == "")
    let expected: [SystemText: [Int]] = [
      "kitten-64.png": [64, 43], "kitten-128.png": [128, 85], "kitten-256.png": [256, 170],
    ]
    #expect(try directory.names() == ["kittens"])
    #expect(try directory.names(in: "kittens") == expected.keys.sorted())
    for (name, size) in expected {
      let bytes = try directory.bytes(of: "kittens/\(name)")
      let png = try PNGFile(bytes)
      #expect([png.width, png.height] == size)
      let row = run.output.split(separator: "\n").last { $0.hasPrefix(name.description) }
      #expect(row?.contains("\(size[0]) × \(size[1])  ") == true)
      #expect(row?.contains(" \(bytes.count) ") == true)
    }
    #expect(run.output.contains("[9/9] report\n"))
    #expect(!run.output.contains("\u{1b}"), "Escape sequences are for terminals")
  }

  @Test("Bad input is reported on standard error with the reason, the other files are resized, and the status is 1")
  func badInput() async throws {
    let directory = try TemporaryDirectory()
    let good = Image.plain(width: 5, height: 4, depth: .sixteen, red: 1, green: 2, blue: 3).ppm
    try directory.write(good, to: "in/good.ppm")
    try directory.write(good, to: "other/good.ppm")
    try directory.write(good.dropLast(), to: "in/short.ppm")
    try directory.write([], to: "empty/readme.txt")
    let run = try await KittenProcess(
      ["none.ppm", "in", "empty", "other/good.ppm", "--sizes=3", "--output=out"], in: directory.path)
    #expect(run.status == 1)
    let messages = run.errors.split(separator: "\n")
    #expect(messages.count == 3)
    let expected = ["none.ppm: no such file", "in/short.ppm is truncated", "empty contains no pictures"]
    #expect(zip(messages, expected).allSatisfy { $0.hasPrefix("kitten: \($1)") })
    // Each failure is reported once.
    #expect(!run.output.contains("no such file") && !run.output.contains("is truncated"))
    #expect(run.output.contains("the results for other/good.ppm are named good-2-*.png"))
    #expect(try directory.names(in: "out") == ["good-2-3.png", "good-3.png"])
    #expect(try PNGFile(directory.bytes(of: "out/good-3.png")).bitDepth == 16)
  }

  @Test(
    "An invalid command line prints the reason, changes nothing, and ends with status 1",
    arguments: [
      (["--sizes", "0"], "--sizes"), (["--jobs", "0"], "--jobs"), (["--frobnicate"], "--frobnicate"),
      (["--output"], "--output"), (["none.ppm"], "none.ppm"), (["."], "contains no pictures"),
      (["--graph", "."], "contains no pictures"),
    ])
  func refused(arguments: [String], reason: String) async throws {
    let directory = try TemporaryDirectory()
    let run = try await KittenProcess(arguments, in: directory.path)
    #expect(run.status == 1)
    #expect(run.errors.hasPrefix("kitten: ") && run.errors.contains(reason))
    #expect(try directory.names() == [])
  }

  @Test("Pictures whose names look alike, or are not UTF-8, are all created, and named after their bytes")
  func names() async throws {
    let directory = try TemporaryDirectory()
    let picture = Image.plain(width: 5, height: 4, red: 1, green: 2, blue: 3).ppm
    let latin = SystemText(bytes: Array("caf".utf8) + [0xe9])
    for name: SystemText in [latin, "caf\u{e9}", "cafe\u{301}"] { try directory.write(picture, to: "in/\(name).ppm") }
    let run = try await KittenProcess(["in", "--sizes=3", "--output=out"], in: directory.path)
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.output.contains("caf\\xe9-3.png"))
    let names = try directory.names(in: "out")
    #expect(names.contains("\(latin)-3.png") && names.count == 3)
    // Two missing files are two failures, although their messages are equal as strings.
    let missing = try await KittenProcess(["x\u{e9}.ppm", "xe\u{301}.ppm", "--output=out3"], in: directory.path)
    #expect(missing.errors.split(separator: "\n").count == 2, "\(missing.errors)")
    // No name controls a terminal, wherever it is printed.
    let hostile = "x\u{1b}[2J\u{202e}\u{9b}"
    try directory.write(picture, to: "hostile/\(hostile).ppm")
    for line in [
      ["hostile", "--sizes=3", "--output=out4", "--report=-"], ["hostile", "--graph"], ["\(hostile).ppm"],
      ["--\(hostile)"],
    ] {
      let run = try await KittenProcess(line, in: directory.path)
      let printed = run.output + run.errors
      #expect(printed.contains("[2J") || printed.contains("#91;2J"), "\(printed)")
      #expect(printed.unicodeScalars.allSatisfy { $0 == "\n" || $0.harmless() == $0 }, "\(printed)")
    }
    // The number is that of all pictures, even in a run that is continued.
    let again = try await KittenProcess(["in", "--sizes=3", "--output=out2", "--journal=j"], in: directory.path)
    #expect(again.status == 0)
    #expect(try directory.names(in: "out2") == names)
  }

  @Test("A path that begins with ~/ is in the home folder, however the option is written")
  func home() throws {
    let home = try #require(getenv("HOME").map { String(cString: $0) })
    for line: [SystemText] in [["--output=~/kit"], ["--output", "~/kit"]] {
      #expect(try Arguments(parsing: line).output == "\(home)/kit")
    }
    let line: [SystemText] = ["~/a.ppm", "--report=~/r", "--timeline=~/t", "--trace=~/u", "--journal=~/j", "--", "~/b"]
    let arguments = try Arguments(parsing: line)
    #expect(arguments.inputs == ["\(home)/a.ppm", "\(home)/b"] && arguments.journal == "\(home)/j")
    #expect(arguments.records == RecordFiles(trace: "\(home)/u", timeline: "\(home)/t", report: "\(home)/r"))
    #expect(throws: UsageError.self) { try Arguments(parsing: ["--sizes", SystemText(bytes: [0xe9])]) }
  }

  @Test("A picture is finished before the next one is started, so memory does not grow with the number of pictures")
  func order() async throws {
    let directory = try TemporaryDirectory()
    let names = ["a", "b", "c", "d"]
    for name in names {
      try directory.write(Image.plain(width: 9, height: 9, red: 1, green: 2, blue: 3).ppm, to: "\(name).ppm")
    }
    let run = try await KittenProcess([".", "--sizes", "4", "--jobs", "1"], in: directory.path)
    let lines = run.output.split(separator: "\n").filter { $0.hasPrefix("[") }
    let steps = lines.map { $0.drop { $0 != "]" }.dropFirst(2) }
    let expected = names.flatMap { ["load \($0)", "resize \($0)-4.png", "write \($0)-4.png"] }
    #expect(steps.map(String.init) == [Step.prepare] + expected + [Step.report])
  }

  @Test("Trace, timeline and report are written on request, name the steps, and do not affect the pictures")
  func records() async throws {
    let directory = try TemporaryDirectory()
    try directory.write(Image.plain(width: 9, height: 9, red: 1, green: 2, blue: 3).ppm, to: "a <b>.ppm")
    let options = ["--trace", "t.json", "--timeline=t.svg", "--report", "r.html", "--output", "out", "--sizes", "4"]
    let run = try await KittenProcess(options + ["a <b>.ppm"], in: directory.path)
    #expect(run.status == 0 && run.errors == "")
    #expect(try directory.names(in: "out") == ["a <b>-4.png"])
    let trace = try JSONSerialization.jsonObject(with: Data(directory.bytes(of: "t.json"))) as? [[String: Any]]
    let names = Set((trace ?? []).compactMap { $0["name"] as? String })
    #expect(names.isSuperset(of: ["load a <b>", "resize a <b>-4.png", "write a <b>-4.png", Step.report]))
    let timeline = try String(decoding: directory.bytes(of: "t.svg"), as: UTF8.self)
    #expect(timeline.contains("resize a &lt;b&gt;-4.png") && timeline.hasSuffix("</svg>\n"))
    let page = try String(decoding: directory.bytes(of: "r.html"), as: UTF8.self)
    #expect(page.contains("resize a &lt;b&gt;-4.png") && page.contains("</html>"))
    let text = try await KittenProcess(["--report", "-", "--sizes", "4", "a <b>.ppm"], in: directory.path)
    #expect(text.status == 0 && text.output.contains("Critical path"))
  }

  @Test(
    "An unwritable trace stops the job before it starts; an unwritable picture or report is reported after the job",
    arguments: [("--trace", 0), ("--timeline", 1), ("--report", 1)])
  func unwritableRecords(option: String, pictures: Int) async throws {
    let directory = try TemporaryDirectory()
    try directory.write(Image.plain(width: 9, height: 9, red: 1, green: 2, blue: 3).ppm, to: "a.ppm")
    let run = try await KittenProcess([option, "no/such.file", "--sizes", "4", "a.ppm"], in: directory.path)
    #expect(run.status == 1 && run.errors.contains("no/such.file"))
    #expect(try directory.names() == ["a.ppm"] + (pictures == 0 ? [] : ["kittens"]))
  }

  @Test("Help and the diagram are printed without touching a file")
  func printing() async throws {
    let directory = try TemporaryDirectory()
    let help = try await KittenProcess(["--help"], in: directory.path)
    #expect(help.status == 0 && help.output == Arguments.help + "\n")
    let graph = try await KittenProcess(["--graph", "--sizes", "7"], in: directory.path)
    #expect(graph.status == 0 && graph.output.hasPrefix("flowchart TD\n"))
    #expect(try directory.names() == [])
  }

  @Test(
    "An interrupted job ends immediately with 128 plus the signal's number, and leaves only complete files",
    arguments: [SIGINT, SIGTERM])
  func interrupted(signal: Int32) async throws {
    let directory = try TemporaryDirectory()
    // For a debug build, this is many seconds of work on every thread of the pool. Neither the line that the test waits for nor the signal
    // may have to wait for a free thread.
    let sizes = (["64"] + (0..<72).map { "\(599 - $0)" }).joined(separator: ",")
    let raster = [UInt8](repeating: 7, count: 3 * 600 * 600)
    let large = try directory.write(Array("P6 600 600 255\n".utf8) + raster, to: "kitten.ppm")
    let arguments = ["--sizes", sizes, "--output", "a/b", "--trace", "t.json", large.description]
    let wasSent = Atomic(false)
    let run = try await KittenProcess(arguments, in: directory.path) { output, process in
      let isFirst = output.contains("write kitten-64.png\n") && wasSent.exchange(true, ordering: .relaxed) == false
      if isFirst { kill(process, signal) }
    }
    #expect(run.status == 128 + signal)
    #expect(run.errors.hasPrefix("kitten: stopping; press Ctrl-C"))
    #expect(run.errors.contains("kitten: interrupted"))
    #expect(run.output.contains(" cancelled in "))
    #expect(!run.output.contains(": cancelled"))
    #expect(try directory.names(in: "a/b") == ["kitten-64.png"])
    #expect(try JSONSerialization.jsonObject(with: Data(directory.bytes(of: "t.json"))) is [Any])
    #expect(try PNGFile(directory.bytes(of: "a/b/kitten-64.png")).width == 64)
  }

  @Test("Pictures are never enlarged")
  func small() async throws {
    let directory = try TemporaryDirectory()
    let small = try directory.write(Array("P6 2 1 255\n".utf8) + [1, 2, 3, 4, 5, 6], to: "small.ppm")
    let run = try await KittenProcess(["--sizes", "1,64", "--output", "out", small.description], in: directory.path)
    #expect(run.status == 0)
    let widths = try ["small-1.png", "small-64.png"].map { try PNGFile(directory.bytes(of: "out/\($0)")).width }
    #expect(widths == [1, 2])
  }

  @Test("On a terminal, one line shows the progress, and is removed before the table is printed")
  func terminal() async throws {
    let directory = try TemporaryDirectory()
    let run = try await KittenProcess(["--sizes", "9"], in: directory.path, terminal: PseudoTerminal(columnCount: 40))
    #expect(run.status == 0)
    let parts = run.output.split(separator: "\r\u{1b}[K", omittingEmptySubsequences: false)
    #expect(parts.count >= 2)
    // The counts grow while the steps are reported. Between two steps, nothing may be running.
    #expect(parts.dropLast().allSatisfy { $0.wholeMatch(of: #/\[\d/\d\]( .*)?/#) != nil && $0.count < 40 })
    #expect(parts.last?.hasPrefix("5 finished in ") == true)
    #expect(parts.last?.contains("kitten-9.png  9 × 6") == true)
  }
}
