/// A location in source code that identifies a lock, an atomic, or a call in reports.
package struct CodeLocation: Sendable, CustomStringConvertible {
  package let fileID: StaticString
  package let line: UInt

  package init(fileID: StaticString, line: UInt) {
    self.fileID = fileID
    self.line = line
  }

  package var description: String { "\(fileID):\(line)" }
}
