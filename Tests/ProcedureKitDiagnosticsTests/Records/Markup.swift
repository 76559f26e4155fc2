import Foundation

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// The elements of a page or a picture, as read by an XML parser.
struct Markup {
  struct Element {
    let name: String
    let attributes: [String: String]
    var text = ""

    func number(_ name: String) -> Double { attributes[name].flatMap(Double.init) ?? .nan }
  }

  private(set) var elements: [Element]

  /// - Throws: The error of the parser, if the text is not well-formed.
  init(_ text: String) throws {
    let reader = Reader()
    let parser = XMLParser(data: Data(text.utf8))
    parser.delegate = reader
    guard parser.parse() else { throw parser.parserError ?? CocoaError(.fileReadCorruptFile) }
    elements = reader.elements
  }

  func all(_ name: String, class style: String? = nil) -> [Element] {
    elements.filter { element in
      element.name == name
        && style.map { (element.attributes["class"] ?? "").split(separator: " ").contains(Substring($0)) } ?? true
    }
  }

  private final class Reader: NSObject, XMLParserDelegate {
    var elements: [Element] = []
    private var open: [Int] = []

    func parser(
      _: XMLParser, didStartElement name: String, namespaceURI _: String?, qualifiedName _: String?,
      attributes: [String: String]
    ) {
      open.append(elements.count)
      elements.append(Element(name: name, attributes: attributes))
    }

    func parser(_: XMLParser, foundCharacters text: String) {
      if let last = open.last { elements[last].text += text }
    }

    func parser(_: XMLParser, didEndElement _: String, namespaceURI _: String?, qualifiedName _: String?) {
      open.removeLast()
    }
  }
}
