import ProcedureKit
import ProcedureKitDurable
import Testing

@Suite struct FingerprintTests {
  @Test(
    "A fingerprint is the SHA-256 hash, for every length of the last block",
    arguments: [
      (0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      (55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"),
      (56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"),
      (63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"),
      (64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"),
      (65, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0"),
      (119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb"),
      (120, "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c"),
      (1_000, "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"),
    ])
  func hash(count: Int, digits: String) {
    #expect(Fingerprint(of: [UInt8](repeating: UInt8(ascii: "a"), count: count)).description == digits)
  }

  @Test("A fingerprint can be created from its bytes, and from no others")
  func bytes() {
    let fingerprint = Fingerprint(of: Array("abc".utf8))
    #expect(fingerprint.description.hasPrefix("ba7816bf8f01cfea"))
    #expect(Fingerprint(bytes: fingerprint.bytes) == fingerprint)
    #expect(Fingerprint(bytes: fingerprint.bytes.dropLast()) == nil)
  }
}
