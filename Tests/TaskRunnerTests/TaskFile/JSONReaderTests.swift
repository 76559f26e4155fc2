import Foundation
import ProcedureKit
import Testing

@testable import taskrunner

@Suite struct JSONReaderTests {
  /// Returns the value as Foundation reads it, for comparison.
  private func plain(_ value: JSONValue) -> NSObject {
    switch value.content {
    case .null: NSNull()
    case .boolean(let value): NSNumber(value: value)
    case .number(let value): NSNumber(value: value)
    case .string(let value): (value.string ?? "") as NSString
    case .array(let values): values.map(plain) as NSArray
    case .object(let members):
      Dictionary(uniqueKeysWithValues: members.map { ($0.key.string ?? "", plain($0.value)) }) as NSDictionary
    }
  }

  @Test(
    "Valid JSON is read as Foundation reads it",
    arguments: [
      "{}", "[]", " [ 1 , -2.5e3, 0, 1E-2 ] \n", #"{"a": [true, false, null], "b": {"c": ""}}"#,
      #"["\"\\\/\b\f\n\r\t", "\u00e9\ud83d\ude00\u20ac", "é😀"]"#, #"["\u0000"]"#, "3", "\"a\"",
    ])
  func reading(_ text: String) throws {
    let expected = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed) as? NSObject
    #expect(try plain(JSONReader.value(in: Array(text.utf8))) == expected)
  }

  @Test(
    "Invalid JSON is a problem with its location",
    arguments: [
      ("", 0), ("  ", 2), ("[1,]", 3), ("[1 2]", 3), ("{\"a\" 1}", 5), ("{a: 1}", 1), ("{\"a\": 1,}", 8), ("[01]", 1),
      ("[1.]", 1), ("[+1]", 1), ("[1e999]", 1), ("nul", 0), ("[\"a\nb\"]", 3), ("[\"abc", 1), ("[\"\\x\"]", 2),
      ("[\"\\ud800\"]", 2), ("[\"\\ud800\\u0041\"]", 2), ("[\"\\u12\"]", 2), ("[\"\\u+123\"]", 2), ("1 2", 2), ("[", 1),
      ("{\"a\": 1, \"a\": 2}", 9), ("[1", 2), ("{\"a\":", 5), ("'a'", 0), ("\u{FEFF}[,]", 4), ("[\"\\udc7f\"]", 2),
      ("[\"\\udd00\"]", 2),
    ])
  func problems(_ text: String, offset: Int) {
    #expect { _ = try JSONReader.value(in: Array(text.utf8)) } throws: { ($0 as? Problem)?.offset == offset }
  }

  @Test("A byte order mark is skipped")
  func byteOrderMark() throws {
    #expect(try plain(JSONReader.value(in: [0xef, 0xbb, 0xbf] + "[1]".utf8)) == [1] as NSArray)
  }

  @Test("Escapes of single bytes represent the bytes of names that are not UTF-8")
  func singleBytes() throws {
    let value = try JSONReader.value(in: Array(#"["caf\udce9\u00e9\uDCFF\udc80"]"#.utf8))
    guard case .array(let elements) = value.content, case .string(let text) = elements[0].content else {
      Issue.record("\(value)")
      return
    }
    #expect(text.bytes == Array("caf".utf8) + [0xe9, 0xc3, 0xa9, 0xff, 0x80])
  }

  @Test("Bytes that are not UTF-8, and texts that are nested too deeply, are problems")
  func hostile() {
    #expect(throws: Problem.self) { try JSONReader.value(in: [0x22, 0xff, 0x22]) }
    let deep = [UInt8](repeating: UInt8(ascii: "["), count: 100_000)
    #expect(throws: Problem.self) { try JSONReader.value(in: deep) }
  }

  @Test("A text that is cut off, or in which a byte is changed, is read or reported as a problem, and never crashes")
  func mutations() {
    let text = Array(#"{"tasks": [{"name": "a\u00e9", "retries": 1.5e1, "env": {"K": null}}, true]}"#.utf8)
    for end in 0..<text.count { #expect(throws: Problem.self) { try JSONReader.value(in: Array(text[..<end])) } }
    for index in text.indices {
      for byte in [0, 0x22, 0x5c, 0x7b, 0x5d, 0x2c, 0xff] as [UInt8] {
        var changed = text
        changed[index] = byte
        _ = try? JSONReader.value(in: changed)
      }
    }
  }
}
