"""What reports and experiments share: runs by method, numbers and findings in words, the style of figures and pages."""
