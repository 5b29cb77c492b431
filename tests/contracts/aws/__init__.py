"""What AWS may answer to the calls that functions make."""
