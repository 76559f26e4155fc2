package import Foundation
package import ProcedureKit

extension SystemText {
  /// Internal, for the examples. The path of a file in the folder at this path.
  package func appending(path name: SystemText) -> SystemText {
    bytes.last == UInt8(ascii: "/") ? "\(self)\(name)" : "\(self)/\(name)"
  }

  /// Internal, for the examples. The last component of the path.
  package var lastName: SystemText {
    SystemText(bytes: bytes.split(separator: UInt8(ascii: "/")).last ?? [])
  }

  /// Internal, for the examples. The name and the extension of a file, without the dot between them.
  package var nameAndExtension: (name: SystemText, extension: SystemText) {
    let last = lastName
    guard let dot = last.bytes.lastIndex(of: UInt8(ascii: ".")), dot > 0 else { return (last, "") }
    return (SystemText(bytes: last.bytes[..<dot]), SystemText(bytes: last.bytes[(dot + 1)...]))
  }

  /// Internal, for the examples. The arguments of this process as bytes, without its name; `CommandLine` repairs arguments that are not
  /// UTF-8.
  package static var commandLine: [SystemText] {
    (1..<max(1, Int(CommandLine.argc))).compactMap { index in
      CommandLine.unsafeArgv[index].map { SystemText(cString: $0) }
    }
  }

  /// Internal, for the examples. The path that a user enters on the command line: a leading `~` is replaced with the folder in `HOME`, as a
  /// shell does for a path that is a separate argument. Other paths are unchanged.
  package var expandingHome: SystemText {
    guard self == "~" || bytes.starts(with: "~/".utf8), let home = getenv("HOME"), home.pointee != 0 else {
      return self
    }
    return SystemText(bytes: SystemText(cString: home).bytes + bytes.dropFirst())
  }

  /// Internal, for the examples. The URL of the file at this path; `nil` if a URL cannot contain the path, because the path, or the current
  /// folder if the path is relative, is not UTF-8. Foundation would repair such a path, and refer to another file.
  package var fileURL: URL? {
    let isAbsolute = bytes.first == UInt8(ascii: "/")
    guard let string, isAbsolute || (try? SystemFiles.currentFolder())?.string != nil else { return nil }
    return URL(filePath: string)
  }

  /// Internal, for the examples. The option and its value, split at the first `=`; if there is none, the value is `nil`.
  package var optionAndValue: (option: SystemText, value: SystemText?) {
    guard let end = bytes.firstIndex(of: UInt8(ascii: "=")) else { return (self, nil) }
    return (SystemText(bytes: bytes[..<end]), SystemText(bytes: bytes[(end + 1)...]))
  }
}
