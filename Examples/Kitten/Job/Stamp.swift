/// A number that differs where a text differs, in every process, as a version of a step.
enum Stamp {
  static func of(_ text: String) -> Int {
    var checksum = CRC32()
    checksum.update(Array(text.utf8))
    return Int(checksum.value)
  }
}
