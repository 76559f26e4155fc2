import Foundation

/// The working copy that these tests were compiled from.
enum Checkout {
  static let root = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// Every Swift file of the package, the manifest included, in the order of their paths.
  static let files: [SourceFile] = {
    let sources = ["Sources", "Tests", "Examples"].flatMap { paths(under: $0) }.filter { $0.hasSuffix(".swift") }
    return (["Package.swift"] + sources).compactMap { path in text(of: path).map { SourceFile(path, $0) } }
  }()

  static let manifest = Manifest(files[0])

  static func files(under folder: String) -> [SourceFile] {
    files.filter { $0.path.hasPrefix(folder + "/") }
  }

  /// The files of the tests and the example programs: compiled, and executed.
  static var examples: [SourceFile] {
    manifest.targets.map(\.folder).filter { !$0.hasPrefix("Sources/") }.flatMap { files(under: $0) }
  }

  /// The pages of the documentation catalogs.
  static let guides: [Markdown] = paths(under: "Sources").filter { $0.hasSuffix(".md") && $0.contains(".docc/") }
    .compactMap { path in text(of: path).map { Markdown(path, $0) } }

  static func text(of path: String) -> String? {
    try? String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  /// The files and folders under `folder`, relative to the package and sorted; folders end in `/`.
  static func paths(under folder: String) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path)) ?? []
    return names.sorted().filter { !$0.hasPrefix(".") }.flatMap { name -> [String] in
      let path = "\(folder)/\(name)"
      return isFolder(path) ? [path + "/"] + paths(under: path) : [path]
    }
  }

  static func exists(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: root.appending(path: path).path)
  }

  private static func isFolder(_ path: String) -> Bool {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: root.appending(path: path).path, isDirectory: &isFolder)
      && isFolder.boolValue
  }
}
