package import Foundation
package import ProcedureKit

extension SystemText {
  /// Internal, for the examples. The path of a file in the folder at this path.
  package func appending(path name: SystemText) -> SystemText {
    bytes.last == UInt8(ascii: "/") ? "\(self)\(name)" : "\(self)/\(name)"
  }

  /// Internal, for the examples. The last name of the path.
  package var lastName: SystemText {
    SystemText(bytes: bytes.split(separator: UInt8(ascii: "/")).last ?? [])
  }

  /// Internal, for the examples. The name and the extension of a file, without the dot between them.
  package var nameAndExtension: (name: SystemText, extension: SystemText) {
    let last = lastName
    guard let dot = last.bytes.lastIndex(of: UInt8(ascii: ".")), dot > 0 else { return (last, "") }
    return (SystemText(bytes: last.bytes[..<dot]), SystemText(bytes: last.bytes[(dot + 1)...]))
  }

  /// Internal, for the examples. The arguments of this process, without its name, as they were given: those of `CommandLine` are repaired.
  package static var commandLine: [SystemText] {
    (1..<max(1, Int(CommandLine.argc))).compactMap { index in
      CommandLine.unsafeArgv[index].map { SystemText(cString: $0) }
    }
  }

  /// Internal, for the examples. The path that a user names on the command line: `~` and what begins with `~/` begin at the folder of `HOME`, as the shell has it
  /// where the path is an argument of its own. Other paths are taken as they are.
  package var expandingHome: SystemText {
    guard self == "~" || bytes.starts(with: "~/".utf8), let home = getenv("HOME"), home.pointee != 0 else {
      return self
    }
    return SystemText(bytes: SystemText(cString: home).bytes + bytes.dropFirst())
  }

  /// Internal, for the examples. The URL of the file at this path; `nil` if a URL cannot hold the path, since the path, or the current folder at which
  /// it begins, is not UTF-8. Foundation would repair it, and name another file.
  package var fileURL: URL? {
    let isAbsolute = bytes.first == UInt8(ascii: "/")
    guard let string, isAbsolute || (try? SystemFiles.currentFolder())?.string != nil else { return nil }
    return URL(filePath: string)
  }

  /// Internal, for the examples. The option and its value, at the first `=`; the value is `nil` without one.
  package var optionAndValue: (option: SystemText, value: SystemText?) {
    guard let end = bytes.firstIndex(of: UInt8(ascii: "=")) else { return (self, nil) }
    return (SystemText(bytes: bytes[..<end]), SystemText(bytes: bytes[(end + 1)...]))
  }
}
