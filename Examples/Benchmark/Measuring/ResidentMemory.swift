import Foundation

/// The memory that this process uses.
enum ResidentMemory {
  /// The number of resident bytes.
  static var bytes: Int {
    #if canImport(Darwin)
      var info = mach_task_basic_info()
      var count = mach_msg_type_number_t(MemoryLayout<mach_task_basic_info>.size / MemoryLayout<natural_t>.size)
      let status = withUnsafeMutablePointer(to: &info) { info in
        info.withMemoryRebound(to: integer_t.self, capacity: Int(count)) { words in
          task_info(mach_task_self_, task_flavor_t(MACH_TASK_BASIC_INFO), words, &count)
        }
      }
      precondition(status == KERN_SUCCESS, "the kernel does not report the memory use of this process")
      return Int(info.resident_size)
    #else
      // The file contains the total number of pages, followed by the number of resident pages and other numbers.
      let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .ascii))?.split(separator: " ")
      guard let pages = fields?.dropFirst().first.flatMap({ Int($0) }) else {
        preconditionFailure("/proc/self/statm does not report the memory use of this process")
      }
      return pages * Int(getpagesize())
    #endif
  }
}
