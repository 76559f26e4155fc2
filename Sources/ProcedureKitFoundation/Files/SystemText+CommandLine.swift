package import Foundation
package import ProcedureKit

extension SystemText {
  /// Returns this path with `name` appended as a component.
  package func appending(path name: SystemText) -> SystemText {
    bytes.last == UInt8(ascii: "/") ? "\(self)\(name)" : "\(self)/\(name)"
  }

  /// The last component of the path.
  package var lastName: SystemText {
    SystemText(bytes: bytes.split(separator: UInt8(ascii: "/")).last ?? [])
  }

  /// The name and the extension of the file, without the dot between them.
  package var nameAndExtension: (name: SystemText, extension: SystemText) {
    let last = lastName
    guard let dot = last.bytes.lastIndex(of: UInt8(ascii: ".")), dot > 0 else { return (last, "") }
    return (SystemText(bytes: last.bytes[..<dot]), SystemText(bytes: last.bytes[(dot + 1)...]))
  }

  /// The command-line arguments of this process as bytes, without the name of the executable. `CommandLine` would replace bytes that are
  /// not valid UTF-8.
  package static var commandLine: [SystemText] {
    (1..<max(1, Int(CommandLine.argc))).compactMap { index in
      CommandLine.unsafeArgv[index].map { SystemText(cString: $0) }
    }
  }

  /// The path with a leading `~` replaced by the value of `HOME`. A shell does the same at the start of an argument. A path without a
  /// leading `~` is unchanged.
  package var expandingHome: SystemText {
    guard self == "~" || bytes.starts(with: "~/".utf8), let home = getenv("HOME"), home.pointee != 0 else {
      return self
    }
    return SystemText(bytes: SystemText(cString: home).bytes + bytes.dropFirst())
  }

  /// The URL of the file at this path; `nil` if the file's absolute path is not valid UTF-8. Foundation would change such a path, so the
  /// URL would refer to a different file.
  package var fileURL: URL? {
    let isAbsolute = bytes.first == UInt8(ascii: "/")
    guard let string, isAbsolute || (try? SystemFiles.currentFolder())?.string != nil else { return nil }
    return URL(filePath: string)
  }

  /// The option and its value, which are separated by the first `=`. The value is `nil` if there is no `=`.
  package var optionAndValue: (option: SystemText, value: SystemText?) {
    guard let end = bytes.firstIndex(of: UInt8(ascii: "=")) else { return (self, nil) }
    return (SystemText(bytes: bytes[..<end]), SystemText(bytes: bytes[(end + 1)...]))
  }
}
