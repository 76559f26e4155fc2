import Foundation

/// The amount of memory that is resident.
enum ResidentMemory {
  /// The size of the resident set in bytes; `nil` on systems that do not report it in `/proc`.
  static var bytes: Int? {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return nil }
    let fields = text.split(separator: " ")
    return fields.count > 1 ? Int(fields[1]).map { $0 * Int(sysconf(Int32(_SC_PAGESIZE))) } : nil
  }
}
