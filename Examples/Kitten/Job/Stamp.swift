import ProcedureKit

/// A number that differs where a text differs, in every process, as a version of a step.
enum Stamp {
  static func of(_ text: SystemText) -> Int {
    var checksum = CRC32()
    checksum.update(text.bytes)
    return Int(checksum.value)
  }
}
