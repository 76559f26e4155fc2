import ProcedureKit

/// A number that differs if a text differs, and is equal in every process, as the version of a step.
enum Stamp {
  static func of(_ text: SystemText) -> Int {
    var checksum = CRC32()
    checksum.update(text.bytes)
    return Int(checksum.value)
  }
}
