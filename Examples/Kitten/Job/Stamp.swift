import ProcedureKit

/// A number that is computed from a string, for use as the version of a step. The number is the same in every process, and changes if the
/// string changes.
enum Stamp {
  static func of(_ text: SystemText) -> Int {
    var checksum = CRC32()
    checksum.update(text.bytes)
    return Int(checksum.value)
  }
}
