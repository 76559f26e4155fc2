import Foundation

/// A terminal for a child process. The test reads the other side.
struct PseudoTerminal {
  let testSide: FileHandle
  let childSide: FileHandle

  init(columnCount: UInt16) throws {
    var (test, child): (Int32, Int32) = (-1, -1)
    var size = winsize(ws_row: 24, ws_col: columnCount, ws_xpixel: 0, ws_ypixel: 0)
    guard openpty(&test, &child, nil, nil, &size) == 0 else {
      throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
    testSide = FileHandle(fileDescriptor: test, closeOnDealloc: true)
    childSide = FileHandle(fileDescriptor: child, closeOnDealloc: true)
  }
}
