// Lists the symbols of stub modules that sources use, with the version of each platform that introduced them, and fails if that is newer
// than the package's minimum, without #available or @available, or if a platform has no such symbol.
//
// usage: symbol-versions MANIFEST SYMBOLS TREES [--toolchain]
//   MANIFEST  Package.swift, for the minimum of each platform
//   SYMBOLS   a folder of symbol graphs of the stub modules; with --toolchain, of modules of the toolchain, whose symbols without a version
//             have always existed, and are not listed
//   TREES     a folder for each platform, in it one for each module, in it the syntax trees of the module's files, as JSON
//
// The syntax trees come from the compiler, so that uses are resolved as by the compiler. Types that occur only in signatures are found in the
// mangled types of the trees.
import Foundation

struct Version: Comparable, CustomStringConvertible {
  var (major, minor) = (0, 0)

  init?(_ text: some StringProtocol) {
    let numbers = text.split { $0 == "." || $0 == "_" }.map { Int($0) }
    guard let first = numbers.first, let first else { return nil }
    (major, minor) = (first, numbers.count > 1 ? numbers[1] ?? 0 : 0)
  }

  init?(_ json: Any?) {
    guard let json = json as? [String: Any], let major = json["major"] as? Int else { return nil }
    (self.major, minor) = (major, json["minor"] as? Int ?? 0)
  }

  static func < (left: Version, right: Version) -> Bool { (left.major, left.minor) < (right.major, right.minor) }

  var description: String { minor == 0 ? "\(major)" : "\(major).\(minor)" }
}

struct Symbol {
  var name: String
  var introduced: [String: Version] = [:]
  var unavailable: Set<String> = []
}

/// A use of a symbol on one platform, and the version that is guaranteed there.
struct Use: Hashable {
  var symbol: String
  /// The case of a type that is the symbol.
  var member: String?
  var place: String
  var floor: String
}

func json(_ path: String) throws -> Any {
  try JSONSerialization.jsonObject(with: Data(contentsOf: URL(filePath: path)))
}

/// The symbols of all graphs, by their identifiers, and the identifiers of the types by their names.
func readSymbols(in folder: String) throws -> (symbols: [String: Symbol], types: [String: String]) {
  var (symbols, types): ([String: Symbol], [String: String]) = ([:], [:])
  for file in try FileManager.default.contentsOfDirectory(atPath: folder).sorted() where file.hasSuffix(".json") {
    guard let graph = try json("\(folder)/\(file)") as? [String: Any],
      let module = (graph["module"] as? [String: Any])?["name"] as? String
    else { continue }
    for entry in graph["symbols"] as? [[String: Any]] ?? [] {
      guard let identifier = (entry["identifier"] as? [String: Any])?["precise"] as? String,
        let path = entry["pathComponents"] as? [String], !identifier.contains("::SYNTHESIZED::")
      else { continue }
      var symbol = Symbol(name: "\(module).\(path.joined(separator: "."))")
      for availability in entry["availability"] as? [[String: Any]] ?? [] {
        guard let domain = availability["domain"] as? String else { continue }
        symbol.introduced[domain] = Version(availability["introduced"])
        if availability["isUnconditionallyUnavailable"] as? Bool == true { symbol.unavailable.insert(domain) }
      }
      symbols[identifier] = symbol
      types[symbol.name] = identifier
    }
  }
  return (symbols, types)
}

/// Reads one file's syntax tree.
struct Walk {
  let platform: String
  let symbols: [String: Symbol]
  private(set) var uses: Set<Use> = []
  /// The mangled types, each with the uses that they represent.
  private(set) var mangled: [String: Set<Use>] = [:]
  private var path = ""
  private var lineStarts: [Int] = []

  init(_ platform: String, _ symbols: [String: Symbol]) {
    (self.platform, self.symbols) = (platform, symbols)
  }

  mutating func read(_ tree: [String: Any], minimum: Version) {
    path = tree["filename"] as? String ?? "?"
    let text = FileManager.default.contents(atPath: path) ?? Data()
    lineStarts = [0] + text.indices.filter { text[$0] == UInt8(ascii: "\n") }.map { $0 + 1 }
    _ = visit(tree, minimum, at: 0)
  }

  /// Visits a part of the tree. Returns the version that is guaranteed after it: a `guard` raises it.
  private mutating func visit(_ node: Any, _ floor: Version, at offset: Int) -> Version {
    if let list = node as? [Any] {
      return list.reduce(floor) { visit($1, $0, at: offset) }
    }
    if let text = node as? String {
      note(text, floor, offset)
      return floor
    }
    guard let node = node as? [String: Any] else { return floor }
    let offset = (node["range"] as? [String: Any])?["start"] as? Int ?? offset
    let checked = max(floor, version(in: node["conditions"], "queries", "version") ?? floor)
    switch node["_kind"] as? String {
    case "pattern_enum_element":
      // The tree has the type and the name of the case, and no identifier.
      let name = ((node["element"] as? [String: Any])?["base_name"] as? [String: Any])?["name"] as? String
      note(node["type"] as? String ?? "", floor, offset, member: name)
      if let part = node["sub_pattern"] { _ = visit(part, floor, at: offset) }
    case "if_stmt":
      for (key, part) in node { _ = visit(part, key == "then_stmt" ? checked : floor, at: offset) }
    case "guard_stmt":
      for part in node.values { _ = visit(part, floor, at: offset) }
      return checked
    default:
      let inner = max(floor, version(in: node["attrs"], nil, "introduced") ?? floor)
      for part in node.values { _ = visit(part, inner, at: offset) }
    }
    return floor
  }

  /// The version of the platform in a list of conditions or attributes.
  private func version(in list: Any?, _ nested: String?, _ key: String) -> Version? {
    let entries = (list as? [Any] ?? []).compactMap { $0 as? [String: Any] }
    let specs = nested.map { nested in entries.flatMap { $0[nested] as? [[String: Any]] ?? [] } } ?? entries
    return specs.first { $0["domain"] as? String == platform }.flatMap { ($0[key] as? String).flatMap { Version($0) } }
  }

  private mutating func note(_ text: String, _ floor: Version, _ offset: Int, member: String? = nil) {
    let isMangled = text.hasPrefix("$s")
    guard isMangled || symbols[text] != nil else { return }
    let line = lineStarts.firstIndex { $0 > offset } ?? lineStarts.count
    let use = Use(symbol: text, member: member, place: "\(path):\(line)", floor: floor.description)
    if isMangled { mangled[text, default: []].insert(use) } else { uses.insert(use) }
  }
}

/// The types in mangled names, by the toolchain's demangler.
func demangle(_ names: [String]) throws -> [String] {
  let (process, input, output) = (Process(), FileManager.default.temporaryDirectory, Pipe())
  let file = input.appending(path: "mangled-\(ProcessInfo.processInfo.processIdentifier)")
  try names.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
  defer { try? FileManager.default.removeItem(at: file) }
  process.executableURL = URL(filePath: "/usr/bin/env")
  process.arguments = ["swift-demangle"]
  process.standardInput = try FileHandle(forReadingFrom: file)
  process.standardOutput = output
  try process.run()
  let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
  process.waitUntilExit()
  let lines = text.split(separator: "\n", omittingEmptySubsequences: false).prefix(names.count).map(String.init)
  guard process.terminationStatus == 0, lines.count == names.count else {
    fatalError("swift-demangle has failed on \(names.count) names")
  }
  return lines
}

let arguments = CommandLine.arguments
let isToolchain = arguments.last == "--toolchain"
guard arguments.count == (isToolchain ? 5 : 4) else {
  fatalError("usage: symbol-versions MANIFEST SYMBOLS TREES [--toolchain]")
}
let manifest = try String(contentsOfFile: arguments[1], encoding: .utf8)
let minimums = Dictionary(
  uniqueKeysWithValues: manifest.matches(of: /\.(macOS|iOS|tvOS|watchOS|visionOS)\(\.v([0-9_]+)\)/).map {
    (String($0.1), Version($0.2)!)
  })
let (symbols, types) = try readSymbols(in: arguments[2])
let files = FileManager.default
var (complaints, table): (Set<String>, [String: Set<String>]) = ([], [:])

for platform in try files.contentsOfDirectory(atPath: arguments[3]).sorted() {
  guard let minimum = minimums[platform] else { fatalError("\(arguments[1]) has no minimum for \(platform)") }
  for module in try files.contentsOfDirectory(atPath: "\(arguments[3])/\(platform)").sorted() {
    let folder = "\(arguments[3])/\(platform)/\(module)"
    var walk = Walk(platform, symbols)
    for file in try files.contentsOfDirectory(atPath: folder).sorted() {
      guard let tree = try json("\(folder)/\(file)") as? [String: Any] else { fatalError("\(file) is no syntax tree") }
      walk.read(tree, minimum: minimum)
    }
    var uses = walk.uses
    let mangled = walk.mangled.sorted { $0.key < $1.key }
    for (text, places) in zip(try demangle(mangled.map(\.key)), mangled.map(\.value)) {
      for name in text.split(whereSeparator: { !$0.isLetter && !$0.isNumber && $0 != "." && $0 != "_" }) {
        for var use in places {
          guard let identifier = types[use.member.map { "\(name).\($0)" } ?? String(name)] else { continue }
          use.symbol = identifier
          uses.insert(use)
        }
      }
    }
    for use in uses {
      guard let symbol = symbols[use.symbol] else { continue }
      let place = "\(use.place): \(symbol.name)"
      guard !symbol.unavailable.contains(platform) else {
        complaints.insert("\(place) is not available on \(platform)")
        continue
      }
      guard let introduced = symbol.introduced[platform] else {
        if isToolchain { continue }
        complaints.insert("\(place) has no version for \(platform): add @available to the stub")
        continue
      }
      table["\(module)\t\(symbol.name)", default: []].insert("\(platform) \(introduced)")
      if let floor = Version(use.floor), introduced > floor {
        complaints.insert("\(place) was introduced in \(platform) \(introduced), but the minimum is \(floor)")
      }
    }
  }
}
guard !table.isEmpty else { fatalError("no use of any symbol was found in \(arguments[3])") }
for (name, versions) in isToolchain ? [] : table.sorted(by: { $0.key < $1.key }) {
  print(name, versions.sorted().joined(separator: ", "), separator: "\t")
}
for complaint in complaints.sorted() { FileHandle.standardError.write(Data((complaint + "\n").utf8)) }
exit(complaints.isEmpty ? 0 : 1)
