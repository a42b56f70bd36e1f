"""A seeded grammar of English-like sentences, their dependency trees and their translation."""
