extension ExclusionWait: Codable {
  private enum CodingKeys: CodingKey {
    case procedure, resource, holder
  }

  /// Encodes the procedures, and the resource by its description.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(procedure, forKey: .procedure)
    try container.encode(resource, forKey: .resource)
    try container.encode(holder, forKey: .holder)
  }

  /// Decodes a wait.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      procedure: try container.decode(ProcedureIdentity.self, forKey: .procedure),
      key: try container.decode(String.self, forKey: .resource),
      holder: try container.decode(ProcedureIdentity.self, forKey: .holder))
  }
}
