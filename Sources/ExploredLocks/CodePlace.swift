/// A place in the code, for reports.
package struct CodePlace: Sendable, CustomStringConvertible {
  package let fileID: StaticString
  package let line: UInt

  package init(fileID: StaticString, line: UInt) {
    self.fileID = fileID
    self.line = line
  }

  package var description: String { "\(fileID):\(line)" }
}
