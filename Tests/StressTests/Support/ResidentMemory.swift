import Foundation

/// How much of the process is in memory.
enum ResidentMemory {
  /// The resident set in bytes; `nil` where the system does not tell it in `/proc`.
  static var bytes: Int? {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return nil }
    let fields = text.split(separator: " ")
    return fields.count > 1 ? Int(fields[1]).map { $0 * Int(sysconf(Int32(_SC_PAGESIZE))) } : nil
  }
}
