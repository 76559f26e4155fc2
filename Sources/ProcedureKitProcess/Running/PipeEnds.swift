import Foundation

/// The two ends of a pipe, which other programs do not inherit.
struct PipeEnds {
  let reading: Int32
  let writing: Int32

  init() throws {
    var ends: [Int32] = [-1, -1]
    #if canImport(Darwin)
      let status = pipe(&ends)
      for end in ends where status == 0 { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    #else
      let status = pipe2(&ends, O_CLOEXEC)
    #endif
    guard status == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EMFILE) }
    (reading, writing) = (ends[0], ends[1])
  }

  func closeWriting() {
    _ = Foundation.close(writing)
  }

  func close() {
    _ = Foundation.close(reading)
    _ = Foundation.close(writing)
  }
}
