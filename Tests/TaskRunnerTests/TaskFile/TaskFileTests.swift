import Foundation
import ProcedureKit
import ProcedureKitFoundation
import TestSupport
import Testing

@testable import taskrunner

@Suite struct TaskFileTests {
  /// Returns the problems of a file, without the file's name.
  private func problems(_ text: String) throws -> [String] {
    let sandbox = try Sandbox(text)
    do throws(TaskFileError) {
      _ = try TaskFile("\(sandbox.path)/tasks.json")
      return []
    } catch {
      return error.description.split(separator: "\n").map { String($0.dropFirst("\(sandbox.path)/tasks.json:".count)) }
    }
  }

  /// Returns the only problem of a file, in which `§` marks the location. Fails if the problem is elsewhere.
  private func problem(in marked: String) throws -> String {
    let lines = marked.prefix { $0 != "§" }.split(separator: "\n", omittingEmptySubsequences: false)
    let place = "\(lines.count):\((lines.last?.count ?? 0) + 1): "
    let problems = try problems(marked.replacing("§", with: ""))
    #expect(problems.count == 1 && problems[0].hasPrefix(place), "\(problems), and not at \(place)")
    return String(problems[0].dropFirst(place.count))
  }

  @Test(
    "Every problem is reported with its line and column",
    arguments: [
      (#"[\n  {"name": "é", "command": §1}\n]"#, "expected a command line"),
      (#"[{"name": §"", "command": "true"}]"#, "expected a name, but found an empty string"),
      (#"[§{"command": "b"}]"#, #"the task has no "name""#),
      (#"[§{"name": "a"}]"#, #"the task has no "command""#),
      (#"{§"task": [], "tasks": []}"#, #"unknown key "task""#),
      ("§{}", #"the key "tasks" is missing"#), ("§3", "expected a list of tasks, but found a number"),
      (#"[{"name": "a", "command": "b", §"need": []}]"#, #"unknown key "need""#),
      (#"[{"name": "a", "command": "b", "needs": §"c"}]"#, "expected a list of names, but found a string"),
      (#"[{"name": "a", "command": "b", "needs": [§"c"]}]"#, #"no task is named "c""#),
      (#"[{"name": "a", "command": "b"},\n{"name": §"a", "command": "b"}]"#, #"an earlier task is also named "a""#),
      (#"[{"name": "a", "command": "b", "retries": §1.5}]"#, "expected a whole number from 0 to 1000, but found"),
      (#"[{"name": "a", "command": "b", "retries": §-1}]"#, "expected a whole number from 0 to 1000, but found"),
      (
        #"[{"name": "a", "command": "b", "timeout": §0}]"#,
        "expected a number of seconds greater than 0, but found a number"
      ),
      (#"[{"name": "a", "command": "b", "env": {§"A=": ""}}]"#, #""A=" is not a valid variable name"#),
      (#"[{"name": "a", "command": §[]}]"#, "expected a program and its arguments, but found an empty list"),
      (#"[{"name": §"a\u0000", "command": "b"}]"#, "expected a name, but found a string with U+0000"),
      (#"[{"name": "a", "command": "b"§"#, "expected a comma or the end of the list, but found the end of the file"),
    ])
  func places(_ text: String, expected: String) throws {
    #expect(try problem(in: text.replacing("\\n", with: "\n")).hasPrefix(expected))
  }

  @Test("All problems are reported together, in the order in which they occur in the file")
  func together() throws {
    let problems = try problems(#"[{"name": 1, "command": 2}, {"name": "b", "command": "c", "x": 1}]"#)
    #expect(problems.map { $0.prefix { $0 != " " } } == ["1:11:", "1:59:"])
  }

  @Test(
    "A cycle is reported with all its tasks, even through files, and so is a task that makes its own input",
    arguments: [
      (
        #"[{"name": "a", "command": "x", "needs": [§"b"]},\n {"name": "b", "command": "x", "needs": ["a"]}]"#,
        #""a" needs "b" needs "a""#
      ),
      (
        #"[{"name": "a", "command": "x", "inputs": [§"o/f"], "outputs": ["p"]},\n"#
          + #"{"name": "b", "command": "x", "inputs": ["./p/x"], "outputs": ["o"]}]"#, #""a" needs "b" needs "a""#
      ),
      (#"[{"name": "a", "command": "x", "inputs": [§"."], "outputs": ["o/f"]}]"#, #""a" needs "a""#),
      (#"[{"name": "a", "command": "x", "needs": [§"a"]}]"#, #""a" needs "a""#),
    ])
  func cycles(_ text: String, expected: String) throws {
    #expect(try problem(in: text.replacing("\\n", with: "\n")).hasPrefix(expected))
  }

  @Test("Two tasks cannot make one file, and a task cannot make a file in a folder that another task makes")
  func outputs() throws {
    let tasks = { (first: String, second: String) in
      #"[{"name": "a", "command": "x", "outputs": [\#(first)]},"# + "\n"
        + #"{"name": "b", "command": "x", "outputs": [\#(second)]}]"#
    }
    let same = try problem(in: tasks(#""o""#, #"§"./x/../o""#))
    #expect(same == #""o" is also an output of the task "a""#)
    let within = try problem(in: tasks(#"§"o/f""#, #""o""#))
    #expect(within == #""o/f" is in "o", which is an output of the task "b""#)
    #expect(try problems(tasks(#""o/f""#, #""o/g""#)) == [])
  }

  @Test("A task needs the tasks that make its inputs, including whole folders and files within folders")
  func needs() throws {
    let sandbox = try Sandbox(
      """
      {"tasks": [
        {"name": "all", "command": "x", "inputs": ["gen", "lib/a.h"], "needs": ["c"]},
        {"name": "a", "command": "x", "outputs": ["gen/a"]}, {"name": "b", "command": "x", "outputs": ["gen/deep/b"]},
        {"name": "c", "command": "x", "outputs": ["lib"]}, {"name": "d", "command": "x"}
      ]}
      """)
    let file = try TaskFile("\(sandbox.path)/tasks.json")
    #expect(file.tasks[0].allNeeds == ["c", "a", "b"])
    #expect(TaskOrder.chosen(["d", "a"], of: file.tasks).map(\.name.value) == ["a", "d"])
    #expect(TaskOrder.chosen(["all"], of: file.tasks).map(\.name.value) == ["all", "a", "b", "c"])
  }

  @Test("A pipe, a device or a descriptor is refused as a task file, without waiting")
  func pipes() throws {
    let sandbox = try Sandbox()
    let pipe = sandbox.file("pipe")
    #expect(mkfifo(pipe.description, 0o600) == 0)
    for path: SystemText in [pipe, "/dev/null", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "/dev/../dev/stdin"] {
      #expect { _ = try TaskFile(path) } throws: {
        "\($0)".hasPrefix("\(path) cannot be used as a task file because")
      }
    }
  }

  /// A way in which task files grow.
  enum Growing: String, CaseIterable {
    case unknownKeys, parts, chain, cycle, equalNames, needs, outputs, variables

    func text(_ count: Int) -> String {
      func list(_ element: (Int) -> String) -> String { (0..<count).map(element).joined(separator: ", ") }
      func tasks(_ rest: (Int) -> String) -> String {
        "[" + list { #"{"name": "\#($0)", "command": "x", \#(rest($0))}"# } + "]"
      }
      func task(_ rest: String) -> String { #"[{"name": "a", "command": "x", \#(rest)}]"# }
      switch self {
      case .unknownKeys: return task(list { #""k\#($0)": 1"# })
      case .parts:
        let path = (0..<count).map { "\($0)" }.joined(separator: "/")
        return #"[{"name": "a", "command": "x", "outputs": ["\#(path)"]}, "#
          + #"{"name": "b", "command": "x", "inputs": ["\#(path)/b"], "outputs": ["\#(path)/c"], "cwd": "\#(path)"}]"#
      case .chain: return tasks { $0 == 0 ? #""needs": []"# : #""needs": ["\#($0 - 1)"]"# }
      case .cycle: return tasks { #""needs": ["\#(($0 + 1) % count)"]"# }
      case .equalNames: return "[" + list { _ in #"{"name": "a", "command": "x", "outputs": ["o"]}"# } + "]"
      case .needs: return tasks { $0 == 0 ? #""needs": [\#(list { #""\#($0)""# })]"# : #""inputs": ["o"]"# }
      case .outputs: return task(#""outputs": [\#(list { #""o/\#($0)""# })], "inputs": ["o"]"#)
      case .variables: return task(#""env": {\#(list { #""k\#($0)": "v""# })}"#)
      }
    }
  }

  @Test(
    "A task file that is four times as large, in any way, is read in about four times the time",
    arguments: Growing.allCases)
  func linear(_ growing: Growing) throws {
    /// Returns the processor time of this thread, which other threads and programs do not affect.
    func seconds(_ count: Int) throws -> Double {
      let file = try Sandbox(growing.text(count))
      func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
      }
      let start = now()
      if let tasks = try? TaskFile(file.file("tasks.json")).tasks {
        #expect(TaskOrder.chosen(tasks.suffix(1).map(\.name.value), of: tasks).count > 0)
        #expect(!TaskGraph.mermaid(tasks).isEmpty)
      }
      return now() - start
    }
    // Quadratic code would take 16 times as long. The caches are shared with other programs, so the test has three attempts.
    var lowest = Double.infinity
    let count = TestDepth.isAtLeastGate ? 1_000 : 400
    for _ in 0..<3 where lowest >= 8 { lowest = try min(lowest, seconds(4 * count) / seconds(count)) }
    #expect(lowest < 8)
  }

  @Test("A file that is missing, or is a folder, is an error that names it")
  func unreadable() {
    for path: SystemText in ["/no/such/file", "/tmp"] {
      #expect { _ = try TaskFile(path) } throws: { "\($0)".hasPrefix("\(path) could not be read: ") }
    }
  }
}
