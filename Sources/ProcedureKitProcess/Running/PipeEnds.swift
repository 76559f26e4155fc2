import Foundation

/// The two ends of a pipe. Programs that this process starts do not inherit them.
struct PipeEnds {
  let reading: Int32
  /// The write end; negative once it is closed.
  private(set) var writing: Int32

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

  func makeReadingNonblocking() {
    // The ends of a new pipe have no other flags.
    _ = fcntl(reading, F_SETFL, O_NONBLOCK)
  }

  func writeByte() {
    _ = withUnsafeBytes(of: UInt8(0)) { write(writing, $0.baseAddress, 1) }
  }

  func readByte() {
    var byte: UInt8 = 0
    _ = read(reading, &byte, 1)
  }

  mutating func closeWriting() {
    if writing >= 0 { _ = Foundation.close(writing) }
    writing = -1
  }

  func close() {
    _ = Foundation.close(reading)
    if writing >= 0 { _ = Foundation.close(writing) }
  }
}
