import Foundation
import TestSupport
import Testing

/// Apple's App Store asks each library to declare its uses of certain functions in a file, `PrivacyInfo.xcprivacy`.
@Suite struct PrivacyTests {
  /// The names of Apple's categories, without their prefix, and the functions that belong to each category. Each use of such a function
  /// contains one of the words, which are found much faster than the expression.
  private static let apple: [(name: String, words: [String], uses: String)] = [
    (
      "FileTimestamp", ["stat", "attrlist", "attributesOfItem", "ationDate"],
      #"\b(?:[fl]?stat|fstatat|f?getattrlist\w*)\(|attributesOfItem|(?:re|odific)ationDate"#
    ),
    ("SystemBootTime", ["systemUptime", "mach_absolute_time"], #"\bsystemUptime\b|\bmach_absolute_time\b"#),
    ("DiskSpace", ["stat", "Capacity", "Size"], #"\bf?statv?fs\b|\bvolume\w*Capacity|\bsystem(?:Free)?Size\b"#),
    ("ActiveKeyboards", ["activeInputModes"], #"\bactiveInputModes\b"#),
    ("UserDefaults", ["UserDefaults"], #"\bUserDefaults\b"#),
  ]

  /// This module runs programs. It has no declaration, because only the systems on which it does not work ask for one.
  private static let exempt = "ProcedureKitProcess"

  private typealias Category = (name: String, words: [String], uses: Regex<AnyRegexOutput>)

  /// Returns Apple's categories with compiled expressions. Compiling them takes longer than searching a file, so it is done once for all
  /// files.
  private static func compiled() throws -> [Category] {
    // By default, a period between two words is no boundary.
    try apple.map { ($0.name, $0.words, try Regex($0.uses).wordBoundaryKind(.simple)) }
  }

  private static func categories(in file: TextFile, _ apple: [Category]) -> [String] {
    let possible = apple.filter { $0.words.contains(where: file.text.has) }
    guard !possible.isEmpty else { return [] }
    let code = file.code
    return possible.filter { category in
      code.contains { line in category.words.contains(where: line.has) && line.contains(category.uses) }
    }.map(\.name)
  }

  private struct Declaration: Decodable {
    struct Access: Decodable {
      let category: String
      let reasons: [String]

      private enum CodingKeys: String, CodingKey {
        case category = "NSPrivacyAccessedAPIType"
        case reasons = "NSPrivacyAccessedAPITypeReasons"
      }
    }

    let accesses: [Access]

    private enum CodingKeys: String, CodingKey {
      case accesses = "NSPrivacyAccessedAPITypes"
    }
  }

  private static func declared(in folder: String) throws -> [String] {
    let path = "\(folder)/PrivacyInfo.xcprivacy"
    guard Checkout.exists(path) else { return [] }
    let declaration = try PropertyListDecoder().decode(Declaration.self, from: Data(Checkout.text(of: path).utf8))
    #expect(declaration.accesses.allSatisfy { !$0.reasons.isEmpty })
    return declaration.accesses.map { $0.category.replacingOccurrences(of: "NSPrivacyAccessedAPICategory", with: "") }
  }

  @Test("Each module declares the functions for which the App Store asks for a reason")
  func modules() throws {
    let files = try Checkout.files(under: "Sources")
    let modules = Dictionary(grouping: files) { file in
      let parts = file.path.split(separator: "/")
      return parts.prefix(parts[1] == "Adapters" ? 3 : 2).joined(separator: "/")
    }
    let manifest = try Checkout.text(of: "Package.swift")
    let targets = manifest.split(separator: /\.target\(\s*name: "/).filter { $0.contains("resources: privacy") }
    let apple = try Self.compiled()
    var declaring: [String] = []
    for (folder, files) in modules.sorted(by: { $0.key < $1.key }) where !folder.hasSuffix(Self.exempt) {
      let used = Set(files.flatMap { Self.categories(in: $0, apple) })
      #expect(try Set(Self.declared(in: folder)) == used, "\(folder)")
      if !used.isEmpty { declaring.append(String(folder.split(separator: "/").last ?? "")) }
    }
    #expect(targets.map { String($0.prefix { $0 != "\"" }) }.sorted() == declaring.sorted())
    #expect(!declaring.isEmpty)
  }

  @Test(
    "Uses are found, and similar names are not",
    arguments: [
      ("guard fstat(a, &b) == 0", ["FileTimestamp"]), ("let a = stat(b, &c)", ["FileTimestamp"]),
      ("let a = [URLResourceKey.contentModificationDateKey]", ["FileTimestamp"]),
      ("statfs(a, &b); UserDefaults.standard", ["DiskSpace", "UserDefaults"]), ("[statvfs]", ["DiskSpace"]),
      ("ProcessInfo.processInfo.systemUptime", ["SystemBootTime"]), ("// lstat(a)", []),
      ("restat(a); let stats = 1", []),
    ])
  func uses(_ source: String, categories: [String]) throws {
    #expect(try Self.categories(in: TextFile("A.swift", source), Self.compiled()) == categories)
  }
}
